import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Kind } from './kinds.js';

/** Thrown for a project that cannot be made as asked. The message says what to do. */
export class BadUsage extends Error {}

export interface Project {
  readonly kind: Kind;
  /** A folder that does not exist yet, or is empty. Its name becomes the name of the package. */
  readonly folder: string;
  /** The folder with the programs of this kind. */
  readonly templates: string;
  /** The version of all packages of coll. */
  readonly version: string;
  /** The home page of the documentation. */
  readonly home: string;
}

/**
 * Writes a project.
 * @throws BadUsage if the folder has files
 */
export function createProject({ kind, folder, templates, version, home }: Project): void {
  if (existsSync(folder) && readdirSync(folder).length > 0)
    throw new BadUsage(`${folder} must be empty: choose another folder`);
  mkdirSync(folder, { recursive: true });
  for (const name of Object.keys(kind.programs)) copyFileSync(path.join(templates, name), path.join(folder, name));
  const write = (name: string, text: string) => writeFileSync(path.join(folder, name), text);
  write('package.json', json(manifestOf(kind, path.basename(path.resolve(folder)), version)));
  write('tsconfig.json', json({ compilerOptions }));
  // pnpm fails if a package has a script for its installation that is neither allowed nor forbidden. None is needed.
  write('pnpm-workspace.yaml', 'allowBuilds:\n  core-js: false\n  esbuild: false\n');
  write('.gitignore', 'node_modules/\n');
  write('README.md', readmeOf(kind, home));
}

const json = (value: unknown) => `${JSON.stringify(value, undefined, 2)}\n`;

function manifestOf(kind: Kind, folder: string, version: string) {
  const ours = kind.packages.map((name) => [`@coll/${name}`, `^${version}`] as const);
  const dependencies = Object.entries(kind.dependencies).concat(ours.map(([name, range]) => [name, range]));
  return {
    name:
      folder
        .toLowerCase()
        .replaceAll(/[^a-z0-9-]+/g, '-')
        .replaceAll(/^-+|-+$/g, '') || 'coll-project',
    private: true,
    type: 'module',
    scripts: Object.fromEntries(Object.entries(kind.scripts).map(([name, [command]]) => [name, command])),
    dependencies: Object.fromEntries(dependencies.sort(([one], [other]) => (one < other ? -1 : 1))),
    devDependencies: { '@types/node': '^20.19.43', tsx: '^4.23.15' },
  };
}

/** For editors. `tsx` does not read them. */
const compilerOptions = {
  target: 'es2022',
  lib: ['es2024', 'esnext.disposable'],
  types: ['node'],
  module: 'nodenext',
  strict: true,
  noEmit: true,
  allowImportingTsExtensions: true,
  skipLibCheck: true,
};

function readmeOf(kind: Kind, home: string): string {
  const rows = Object.entries(kind.scripts).map(([name, [command, effect]]) => {
    const script = ['start', 'test'].includes(name) ? `npm ${name}` : `npm run ${name}`;
    return `${script}      # ${command}: ${effect}\n`;
  });
  return `This project has ${kind.title}.

\`\`\`sh
npm install
${rows.join('')}\`\`\`

[The tutorial](${home}/blob/main/${kind.page}) explains the programs.
`;
}
