// Checks that the budgets of bundles never rise: each must be at most what it was in earlier commits.
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
      console.error(`${file}: ${name}.${unit} must be at most ${before}, as in commit ${commit}, got ${now}`);
      process.exitCode = 1;
    }
  }
}
