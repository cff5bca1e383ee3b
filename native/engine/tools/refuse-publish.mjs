// What `npm publish` runs first in a package with binaries: its folder is never published, because its manifest names no platform packages.
import { readFileSync } from 'node:fs';
import path from 'node:path';

const { name } = JSON.parse(readFileSync(path.resolve('package.json'), 'utf8'));
console.error(`${name} must be published from its tarballs, got its folder, which names no platform packages: users would silently run without the binary.
Pack it on every platform, then: npm run release -- FOLDER (CONTRIBUTING.md, Releases)`);
process.exitCode = 1;
