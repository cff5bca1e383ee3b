// Checks that the budgets of bundles do not rise unnoticed: each must be at most what it was in earlier commits. A commit that raises one
// says why in its message, in a line that begins with `Budget raised:`.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');
const file = 'tools/package-shape/bundle-budgets.json';

function git(...args) {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout : '';
}

const budgets = JSON.parse(readFileSync(path.join(root, file), 'utf8'));
for (const commit of git('log', '--format=%h', '--', file).split('\n').filter(Boolean)) {
  for (const [name, limits] of Object.entries(JSON.parse(git('show', `${commit}:${file}`)))) {
    for (const [unit, before] of Object.entries(limits)) {
      const now = budgets[name]?.[unit];
      if (now <= before) continue;
      const advice =
        'make the bundle smaller, or say why it grows in a line `Budget raised: ...` of the commit message';
      console.error(`${file}: ${name}.${unit} was at most ${before} in commit ${commit}, and is ${now}: ${advice}`);
      process.exitCode = 1;
    }
  }
  // Earlier commits had smaller bundles.
  if (/^Budget raised: ./m.test(git('show', '-s', '--format=%b', commit))) break;
}
