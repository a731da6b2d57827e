/** `strongroom logout`: ends a sign-in at the service, and deletes its profile. A stored key stays valid. */
import { flag, text } from '../../service/settings/options.ts';
import { Refusal } from '../../service/settings/report.ts';
import { profilesFile, readProfiles, storeProfiles } from '../connection/profiles.ts';
import { commandOf } from '../terminal/command.ts';
import { note, printable, printJson } from '../terminal/terminal.ts';
import { endProfile } from './login.ts';

const options = {
  profile: text('NAME', 'the profile (default: the one in use)'),
  json: flag('print JSON'),
};

export const command = commandOf({
  usage: 'logout [flags]',
  summary: 'sign out, and delete the profile',
  options,
  about:
    'Revokes the key of a browser sign-in, and deletes the profile with its key. A key that you stored yourself stays\nvalid: revoke it in the dashboard to end it everywhere.',
  run: async ({ profile, json }) => {
    const file = profilesFile(process.env);
    const { current, profiles } = readProfiles(file);
    const name = profile ?? current;
    const gone = name === null ? undefined : profiles[name];
    if (name === null || gone === undefined) throw new Refusal('there is no such profile');
    const { [name]: _, ...left } = profiles;
    const ended = await endProfile(gone, name);
    await storeProfiles(file, current === name ? (Object.keys(left)[0] ?? null) : current, left);
    const revoked = gone.member !== undefined && ended;
    if (json) printJson({ profile: name, url: gone.url, revoked });
    else
      note(
        revoked
          ? `signed out of ${gone.url}, and deleted the profile ${printable(name)}`
          : `deleted the profile ${printable(name)}; revoke its key in the dashboard if it is no longer needed`,
      );
  },
});
