import path from 'node:path';
import { ownVersion } from '../arguments.js';
import { findInstalled, type Installation, type InstalledPackage } from './installed-packages.js';
import type { Check, Line } from './line.js';

/** Whether the packages of coll in a project belong together. */
export const packagesCheck: Check = {
  name: 'packages',
  examine: ({ folder }) => [packagesLine(findInstalled(folder), ownVersion(), folder)],
};

interface Commands {
  /** Installs packages of the given versions. */
  readonly add: string;
  /** Leaves one copy of each package. */
  readonly single: string;
  /** Prints which packages need a package. */
  readonly why: string;
}

const commands: Readonly<Record<Installation['manager'], Commands>> = {
  npm: { add: 'npm install', single: 'npm dedupe', why: 'npm ls' },
  pnpm: { add: 'pnpm add', single: 'pnpm dedupe', why: 'pnpm why' },
  yarn: { add: 'yarn add', single: 'yarn dedupe', why: 'yarn why' },
  bun: { add: 'bun add', single: 'delete node_modules and bun.lock, then bun install', why: 'bun why' },
};

/**
 * @param own the version of this command
 * @param folder the folder of the project, for short paths
 */
export function packagesLine(installation: Installation, own: string, folder: string): Line {
  const { packages, manager, isPlugAndPlay } = installation;
  const line = { name: 'packages', data: { packages, manager } };
  const [first] = packages;
  if (!first) {
    const text = isPlugAndPlay
      ? 'not examined: Yarn keeps them in archives'
      : 'no @coll packages in this folder or above';
    return { ...line, text };
  }
  const versions = [...new Set(packages.map(({ version }) => version))].sort(byVersion);
  const newest = versions.at(-1) as string;
  if (versions.length > 1) {
    const text = versions.map((version) => `${version} of ${namesOf(packages, version)}`).join('; ');
    const cure = unifyingCure(installation, newest);
    return { ...line, verdict: 'broken', text: `different versions: ${text}`, cure };
  }
  const cores = packages.filter(({ name }) => name === '@coll/core');
  if (cores.length > 1) {
    const places = cores.map((core) => path.relative(folder, core.folder) || '.').join(', ');
    return {
      ...line,
      verdict: 'broken',
      text: `${cores.length} copies of @coll/core: ${places}`,
      cure: commands[manager].single,
    };
  }
  if (newest !== own) {
    const text = `${newest}, but this command is ${own}`;
    return { ...line, verdict: 'broken', text, cure: `${commands[manager].add} @coll/cli@${newest}` };
  }
  const count = new Set(packages.map(({ name }) => name)).size;
  return { ...line, verdict: 'ok', text: `${newest} (${count === 1 ? first.name : `${count} packages`})` };
}

/** How all packages get the newest version. */
function unifyingCure({ packages, manager }: Installation, newest: string): string {
  const { add, why } = commands[manager];
  const older = packages.filter(({ version }) => version !== newest);
  const [own, nested] = [older.filter((each) => !isNested(each)), older.filter(isNested)];
  const names = [...new Set(own.map(({ name }) => `${name}@${newest}`))].join(' ');
  const first = nested[0];
  const update =
    first && `update the package that needs ${first.name} ${first.version} (${why} ${first.name} shows it)`;
  return [names && `${add} ${names}`, update].filter(Boolean).join('; ');
}

/** Whether another package has the package to itself, so that the project cannot update it. */
function isNested({ folder }: InstalledPackage): boolean {
  const above = folder.split(path.sep);
  return above.filter((name) => name === 'node_modules').length > 1 && !above.includes('.pnpm');
}

const mostNames = 3;

function namesOf(packages: readonly InstalledPackage[], version: string): string {
  const names = [...new Set(packages.filter((each) => each.version === version).map(({ name }) => name))];
  const others = names.length - mostNames;
  return others > 0 ? `${names.slice(0, mostNames).join(', ')} and ${others} more` : names.join(', ');
}

/** Older versions first; a release follows its prereleases. */
function byVersion(a: string, b: string): number {
  const [numbers, others] = [a, b].map((version) => (version.split('-')[0] ?? '').split('.').map(Number));
  for (const [index, number] of (numbers ?? []).entries()) {
    const difference = number - (others?.[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return Number(b.includes('-')) - Number(a.includes('-')) || a.localeCompare(b);
}
