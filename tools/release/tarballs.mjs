// The packages with binaries, as native/*/pack.mjs packs them.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { platforms } from '../../native/engine/tools/platforms.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const read = (file) => JSON.parse(readFileSync(path.join(root, file), 'utf8'));

/** Each package with binaries, and its platforms. */
function packages(without) {
  return ['native/engine', 'native/nccl', 'native/mpi'].map((folder) => {
    const { name, version } = read(`${folder}/package.json`);
    const systems = read(`${folder}/compile.json`).platforms;
    const its = Object.keys(platforms).filter((it) => systems?.includes(platforms[it].os) !== false);
    return { name, version, platforms: its.filter((it) => !without.includes(it)) };
  });
}

const tarball = (folder, name, version) => ({
  name,
  version,
  file: path.resolve(folder, `${name.slice(1).replace('/', '-')}-${version}.tgz`),
});

/** The tarballs to publish, in order: those of the platforms before the package that names them. */
export function tarballsIn(folder, without) {
  return packages(without).flatMap(({ name, version, platforms: its }) => [
    ...its.map((platform) => tarball(folder, `${name}-${platform}`, version)),
    tarball(folder, name, version),
  ]);
}

/** The reasons not to publish these tarballs: missing tarballs, and platforms that a package does not list. */
export function faultsIn(folder, without) {
  const unknown = without.filter((platform) => !(platform in platforms));
  if (unknown.length > 0)
    return [`--without must name one of ${Object.keys(platforms).join(', ')}, got ${unknown.join(', ')}`];
  const missing = tarballsIn(folder, without).filter(({ file }) => !existsSync(file));
  return [
    ...missing.map(({ name, file }) => `${name}: ${file} is missing: pack it there by node pack.mjs`),
    ...packages(without).flatMap((its) => unnamedBy(its, folder)),
  ];
}

function unnamedBy({ name, version, platforms: its }, folder) {
  const { file } = tarball(folder, name, version);
  if (!existsSync(file)) return [];
  const manifest = execFileSync('tar', ['-xzOf', file, 'package/package.json'], { encoding: 'utf8' });
  const { optionalDependencies = {} } = JSON.parse(manifest);
  const unnamed = its.filter((platform) => optionalDependencies[`${name}-${platform}`] !== version);
  return unnamed.map((it) => `${name}: its tarball does not depend on ${name}-${it} ${version}: pack it again, last`);
}
