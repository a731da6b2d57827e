/** How the signed-in person signs in, and where they are signed in. */
import { Clients } from './clients.tsx';
import { CommandLines } from './command-lines.tsx';
import { Mail } from './mail.tsx';
import { Passkeys } from './passkeys.tsx';
import { Password } from './password.tsx';
import { SecondFactor } from './second-factor.tsx';
import { Sessions } from './sessions.tsx';

export default function Security() {
  return (
    <>
      <Password />
      <Passkeys />
      <SecondFactor />
      <Sessions />
      <Mail />
      <CommandLines />
      <Clients />
    </>
  );
}
