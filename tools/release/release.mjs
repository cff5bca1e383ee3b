// Publishes a release: `npm run release -- FOLDER [--without PLATFORM]... [--dry-run]`. FOLDER has the tarballs of native/*/pack.mjs.
// Platform packages come first, then the packages that name them, then all others by changesets, which leaves out what is published.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { faultsIn, tarballsIn } from './tarballs.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { without: { type: 'string', multiple: true, default: [] }, 'dry-run': { type: 'boolean', default: false } },
});
const root = path.resolve(import.meta.dirname, '../..');
const [folder] = positionals;

function run(...command) {
  const { status } = spawnSync(command[0], command.slice(1), { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

const isPublished = ({ name, version }) =>
  spawnSync('npm', ['view', `${name}@${version}`, 'version'], { encoding: 'utf8' }).stdout.trim() === version;

const faults =
  folder === undefined ? ['npm run release -- FOLDER: a folder is missing'] : faultsIn(folder, values.without);
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exit(1);

for (const tarball of tarballsIn(folder, values.without)) {
  if (values['dry-run']) console.log(`npm publish ${tarball.file}`);
  else if (!isPublished(tarball)) run('npm', 'publish', '--access', 'public', tarball.file);
}
if (!values['dry-run']) run(path.join(root, 'node_modules/.bin/changeset'), 'publish');
