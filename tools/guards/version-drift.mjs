// Checks that all packages have the same version, and that no dependency is wanted in two versions. Published packages
// pin the exact version of core, because `@coll/core/internal` may change in any release.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');
const read = (folder) => JSON.parse(readFileSync(path.join(root, folder, 'package.json'), 'utf8'));
const foldersOf = (pattern) => {
  if (!pattern.endsWith('/*')) return [pattern];
  const parent = pattern.slice(0, -2);
  return readdirSync(path.join(root, parent)).map((name) => `${parent}/${name}`);
};

const folders = read('.').workspaces.flatMap(foldersOf);
const manifests = ['.', ...folders.filter((folder) => existsSync(path.join(root, folder, 'package.json')))].map(read);
const published = manifests.filter((manifest) => !manifest.private);
const version = published[0].version;
const faults = [];

for (const manifest of published) {
  if (manifest.version !== version) faults.push(`${manifest.name} is ${manifest.version}, the others are ${version}`);
}

const wantedBy = new Map();
for (const { name: dependant, dependencies, devDependencies, peerDependencies, private: isPrivate } of manifests) {
  const ours = Object.entries(peerDependencies ?? {}).filter(([name]) => name.startsWith('@coll/'));
  const wanted = [...Object.entries({ ...dependencies, ...devDependencies }), ...ours];
  for (const [name, range] of wanted) {
    if (name === '@coll/core' && !isPrivate) {
      if (range !== version) faults.push(`${dependant} wants ${name} ${range}, not exactly ${version}`);
      continue;
    }
    const first = wantedBy.get(name) ?? { dependant, range: name.startsWith('@coll/') ? `^${version}` : range };
    wantedBy.set(name, first);
    if (range !== first.range) {
      faults.push(`${dependant} wants ${name} ${range}, not ${first.range} like ${first.dependant}`);
    }
  }
}

for (const fault of faults) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;
