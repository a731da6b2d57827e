/** The settings of the mail server, from the flags; null if the service sends no mail. */
import { readFileSync } from 'node:fs';
import type { SmtpSettings } from '../../egress/smtp.ts';
import { type ServeConfig, UsageError } from './config.ts';

export function smtpSettingsOf(
  config: Pick<
    ServeConfig,
    'smtp-url' | 'mail-from' | 'smtp-password-file' | 'allow-plain-smtp' | 'smtpPassword'
  >,
  dashboard: string | null,
): SmtpSettings | null {
  const { 'smtp-url': url, 'mail-from': from } = config;
  if (url === null && from === null) return null;
  if (url === null || from === null) throw new UsageError('--smtp-url and --mail-from require each other');
  if (dashboard === null)
    throw new UsageError('--smtp-url requires --public-url, because mails contain links');
  const file = config['smtp-password-file'];
  const password = file === null ? config.smtpPassword : passwordIn(file);
  if (new URL(url).username !== '' && password === null)
    throw new UsageError(
      '--smtp-url names a user: STRONGROOM_SMTP_PASSWORD or --smtp-password-file is required',
    );
  return { url, from, password, mayBePlain: config['allow-plain-smtp'] };
}

function passwordIn(file: string): string {
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '');
  } catch {
    throw new UsageError('--smtp-password-file names a file that can’t be read');
  }
}
