// What to type in a project that installs packed packages. All package managers but npm ask the registry for a package that another one
// depends on, although its tarball is given, unless the project overrides the package. Anybody could hold the name there.
import { writeFileSync } from 'node:fs';
import path from 'node:path';

/**
 * Writes what pnpm, Yarn and Bun need beside the tarballs.
 * @param files the names of the tarballs in the folder
 * @returns the commands for each package manager, as a text
 */
export function installCommands(folder, files, version) {
  const overrides = files.map((file) => {
    const name = file.slice('coll-'.length, -`-${version}.tgz`.length);
    return [`@coll/${name}`, `file:${path.join(folder, file)}`];
  });
  const write = (name, lines) => {
    writeFileSync(path.join(folder, name), `${lines.join('\n')}\n`);
    return quoted(path.join(folder, name));
  };
  const ofPnpm = write('pnpm-workspace.yaml', [
    'overrides:',
    ...overrides.map(([name, file]) => `  '${name}': ${JSON.stringify(file)}`),
  ]);
  const ofYarn = write(
    'resolutions.txt',
    overrides.map(([name, file]) => JSON.stringify(`resolutions.${name}=${file}`)),
  );
  const tarballs = `${quoted(folder)}/coll-*.tgz`;
  return `Type in your project:

npm:   npm install ${tarballs}
pnpm:  cat ${ofPnpm} >> pnpm-workspace.yaml && pnpm add ${tarballs}
Yarn:  xargs npm pkg set < ${ofYarn} && yarn add ${tarballs}
Bun:   xargs npm pkg set < ${ofYarn} && bun add ${tarballs}
`;
}

// A folder may have a space in its name.
const quoted = (file) => (/^[\w./-]+$/.test(file) ? file : `'${file}'`);
