// Publishes a release: `npm run release -- FOLDER [--without PLATFORM]... [--dry-run]`. FOLDER has the tarballs of native/*/pack.mjs.
// Platform packages come first, then the packages that name them, then all others by changesets, which leaves out what is published.
// Then all packages get a git tag, and FOLDER gets a list of what the packages contain (SBOM).
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { faultsIn, tarballsIn } from './tarballs.mjs';
import { manifestIn, published, root } from './workspaces.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { without: { type: 'string', multiple: true, default: [] }, 'dry-run': { type: 'boolean', default: false } },
});
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
if (values['dry-run']) process.exit();
const changeset = path.join(root, 'node_modules/.bin/changeset');
run(changeset, 'publish', '--no-git-tag');
// `publish` would tag only what it has published itself, which leaves out the packages with binaries.
run(changeset, 'tag');
writeBillOfMaterials();

/** Writes the packages, and what they depend on, in the format CycloneDX. */
function writeBillOfMaterials() {
  const workspaces = [...published.keys()].flatMap((name) => ['--workspace', name]);
  const options = ['--sbom-format=cyclonedx', '--sbom-type=library', '--omit=dev', '--package-lock-only'];
  const { status, stdout, stderr } = spawnSync('npm', ['sbom', ...options, ...workspaces], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  if (status !== 0) {
    process.stderr.write(stderr);
    process.exit(1);
  }
  const { version } = manifestIn(published.get('@coll/core'));
  writeFileSync(path.join(folder, `coll-${version}.cdx.json`), stdout);
}
