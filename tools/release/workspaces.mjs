// The published packages of this repository.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

export const root = path.resolve(import.meta.dirname, '../..');

/** The manifest in a folder of this repository. */
export const manifestIn = (folder) => JSON.parse(readFileSync(path.join(root, folder, 'package.json'), 'utf8'));

/** The folders of the published packages, by name. */
export const published = new Map(
  ['packages', 'native']
    .flatMap((parent) => readdirSync(path.join(root, parent)).map((name) => `${parent}/${name}`))
    .filter((folder) => existsSync(path.join(root, folder, 'package.json')))
    .map((folder) => [manifestIn(folder), folder])
    .filter(([manifest]) => !manifest.private)
    .map(([{ name }, folder]) => [name, folder]),
);

/** The folders of packages and of the packages of this repository that they depend on, by name. */
export function withDependencies(names, found = new Map()) {
  for (const name of names) {
    if (found.has(name)) continue;
    found.set(name, published.get(name));
    const { dependencies, peerDependencies } = manifestIn(published.get(name));
    withDependencies(
      Object.keys({ ...dependencies, ...peerDependencies }).filter((each) => published.has(each)),
      found,
    );
  }
  return found;
}
