// Packs packages of this repository, with all that they depend on, for projects on this machine, and prints the command that installs
// them there: `npm run pack -- [PACKAGE]... [--to FOLDER]`. Default: strategy and ring, into the folder `tarballs`.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { prepare } from '../run/phases.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { to: { type: 'string', default: path.join(root, 'tarballs') } },
});
const target = path.resolve(values.to);
const wanted = positionals.length > 0 ? positionals : ['strategy', 'ring'];

const manifestIn = (folder) => JSON.parse(readFileSync(path.join(root, folder, 'package.json'), 'utf8'));
const folders = ['packages', 'native'].flatMap((parent) =>
  readdirSync(path.join(root, parent)).map((name) => path.join(parent, name)),
);
const published = new Map(
  folders
    .filter((folder) => existsSync(path.join(root, folder, 'package.json')))
    .map((folder) => [manifestIn(folder).name, folder])
    .filter(([, folder]) => !manifestIn(folder).private),
);

/** The packages, and the packages of this repository that they depend on. */
function withDependencies(names, found = new Set()) {
  for (const name of names) {
    if (found.has(name)) continue;
    found.add(name);
    const { dependencies, peerDependencies } = manifestIn(published.get(name));
    const ours = Object.keys({ ...dependencies, ...peerDependencies }).filter((each) => published.has(each));
    withDependencies(ours, found);
  }
  return [...found];
}

const fullNames = wanted.map((name) => (name.startsWith('@coll/') ? name : `@coll/${name}`));
const unknown = fullNames.filter((name) => !published.has(name));
if (unknown.length > 0) {
  process.stderr.write(`no package ${unknown.join(', ')}: choose from ${[...published.keys()].sort().join(', ')}\n`);
  process.exit(1);
}

await prepare();
mkdirSync(target, { recursive: true });
const tarballs = () => readdirSync(target).filter((file) => /^coll-.*\.tgz$/.test(file));
for (const file of tarballs()) rmSync(path.join(target, file));
const packed = withDependencies(fullNames).map((name) => path.join(root, published.get(name)));
/** Whether this checkout has the binary of a package. Without a compiler there is none, and other engines are used. */
const hasBinary = (folder) => {
  if (!existsSync(path.join(folder, 'compile.json'))) return false;
  const { name } = JSON.parse(readFileSync(path.join(folder, 'compile.json'), 'utf8'));
  return existsSync(path.join(folder, `build/release/${name}.node`));
};
const run = (...command) =>
  execFileSync(command[0], command.slice(1), { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
const plain = packed.filter((folder) => !hasBinary(folder));
run('npm', 'pack', '--silent', '--pack-destination', target, ...plain);
for (const folder of packed.filter(hasBinary)) run(process.execPath, path.join(folder, 'pack.mjs'), target);
const files = tarballs()
  .sort()
  .map((file) => path.join(target, file));
// Quoted, because a folder may have a space in its name.
process.stdout.write(`npm install ${files.map((file) => (/\s/.test(file) ? `'${file}'` : file)).join(' ')}\n`);
