// Packs packages of this repository, with all that they depend on, for projects on this machine, and prints the commands that install
// them there: `npm run pack -- [PACKAGE]... [--to FOLDER]`. Default: strategy and ring, into the folder `tarballs`.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { npm, phase, preparePackages } from '../run/phases.mjs';
import { installCommands } from './install-commands.mjs';
import { manifestIn, published, root, withDependencies } from './workspaces.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { to: { type: 'string', default: path.join(root, 'tarballs') } },
});
const target = path.resolve(values.to);
const wanted = positionals.length > 0 ? positionals : ['strategy', 'ring'];
const fullNames = wanted.map((name) => (published.has(name) ? name : `@coll/${name}`));
const unknown = fullNames.filter((name) => !published.has(name));
if (unknown.length > 0) {
  process.stderr.write(`no package ${unknown.join(', ')}: choose from ${[...published.keys()].sort().join(', ')}\n`);
  process.exit(1);
}

const folders = withDependencies(fullNames);
await preparePackages(folders);

/** Whether this checkout has the binary of a package. Without a compiler there is none, and other engines are used. */
function hasBinary(folder) {
  const file = path.join(root, folder, 'compile.json');
  if (!existsSync(file)) return false;
  const { name } = JSON.parse(readFileSync(file, 'utf8'));
  return existsSync(path.join(root, folder, `build/release/${name}.node`));
}

mkdirSync(target, { recursive: true });
const tarballs = () => readdirSync(target).filter((file) => /^coll-.*\.tgz$/.test(file));
for (const file of tarballs()) rmSync(path.join(target, file));
await phase('pack', `tarballs in ${target}`, 5, async (step) => {
  const plain = [...folders.values()].filter((folder) => !hasBinary(folder)).map((folder) => `./${folder}`);
  await step([...npm, 'pack', '--silent', '--pack-destination', target, ...plain]);
  for (const folder of folders.values())
    if (hasBinary(folder)) await step([process.execPath, `${folder}/pack.mjs`, target]);
});
process.stdout.write(installCommands(target, tarballs(), manifestIn(published.get('@coll/core')).version));
