/** How the signed-in person proves who they are, and where they are signed in. */

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
    </>
  );
}
