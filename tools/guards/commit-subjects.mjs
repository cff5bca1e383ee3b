// Checks commit subjects: `type(scope): summary` or `type: summary`, up to 60 characters. Older commits are not
// checked.
import { spawnSync } from 'node:child_process';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');
const since = process.argv[2] ?? 'cc725c9';
const form = /^(feat|fix|perf|refactor|test|docs|build|chore)(\([a-z0-9-]+\))?: \S/;
const longest = 60;

function git(...args) {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout : undefined;
}

if (git('merge-base', '--is-ancestor', since, 'HEAD') === undefined) {
  console.error(`commit subjects were not checked: the history here does not reach ${since}`);
} else {
  const commits = git('log', '--no-merges', '--format=%h %s', `${since}..HEAD`).split('\n').filter(Boolean);
  for (const commit of commits) {
    const subject = commit.slice(commit.indexOf(' ') + 1);
    if (form.test(subject) && subject.length <= longest) continue;
    console.error(`commit ${commit}\n  must be "type(scope): summary" or "type: summary", up to ${longest} characters`);
    process.exitCode = 1;
  }
}
