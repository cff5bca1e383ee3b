import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';

export const repository = path.resolve(import.meta.dirname, '../../..');

/** All Markdown files that git does not ignore, by their paths in the repository. */
export function markdownFiles(): readonly string[] {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate', '*.md'];
  const listed = execFileSync('git', args, { cwd: repository, encoding: 'utf8' }).split('\n');
  return listed.filter((file) => file !== '' && existsSync(path.join(repository, file))).sort();
}

/** The pages that users read: the site and the READMEs. */
export function userPages(): readonly string[] {
  return markdownFiles().filter((file) => /^docs\/|(^|\/)README\.md$/.test(file));
}
