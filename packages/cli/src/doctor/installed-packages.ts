import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import path from 'node:path';

/** A package of coll that programs in a folder may load. */
export interface InstalledPackage {
  readonly name: string;
  readonly version: string;
  /** The folder, without symbolic links. */
  readonly folder: string;
}

/** What a project has installed, and by which package manager. */
export interface Installation {
  readonly packages: readonly InstalledPackage[];
  readonly manager: 'npm' | 'pnpm' | 'yarn' | 'bun';
  /** Whether Yarn keeps the packages in archives, which are not examined. */
  readonly isPlugAndPlay: boolean;
}

/** Finds the packages in all `node_modules` of a folder and of the folders above it. */
export function findInstalled(folder: string): Installation {
  const search = new PackageSearch();
  const above = foldersAbove(path.resolve(folder));
  for (const each of above) search.collect(path.join(each, 'node_modules'));
  const has = (...files: readonly string[]) =>
    above.some((each) => files.some((file) => existsSync(path.join(each, file))));
  const manager = has('pnpm-lock.yaml')
    ? 'pnpm'
    : has('yarn.lock')
      ? 'yarn'
      : has('bun.lock', 'bun.lockb')
        ? 'bun'
        : 'npm';
  const packages = [...search.found.values()].sort((a, b) => order(a).localeCompare(order(b)));
  return { packages, manager, isPlugAndPlay: has('.pnp.cjs') };
}

function order({ name, folder }: InstalledPackage): string {
  return `${name} ${folder}`;
}

function foldersAbove(folder: string): readonly string[] {
  const parent = path.dirname(folder);
  return parent === folder ? [folder] : [folder, ...foldersAbove(parent)];
}

class PackageSearch {
  /** The packages by their folder. */
  readonly found = new Map<string, InstalledPackage>();
  // Links may lead back to a folder above.
  readonly #searched = new Set<string>();

  /** Collects the packages in a `node_modules`, and in those of the packages in it. */
  collect(modules: string): void {
    const real = realPathOf(modules);
    if (real === undefined || this.#searched.has(real)) return;
    this.#searched.add(real);
    for (const name of namesIn(modules)) {
      if (name === '.pnpm') this.#collectKept(path.join(modules, name));
      else if (name.startsWith('@')) this.#visitAll(modules, name);
      else if (!name.startsWith('.')) this.#visit(modules, name);
    }
  }

  /** pnpm keeps each package, with links to those that it depends on, in a folder here. */
  #collectKept(folder: string): void {
    for (const name of namesIn(folder)) this.collect(path.join(folder, name, 'node_modules'));
  }

  #visitAll(modules: string, scope: string): void {
    for (const name of namesIn(path.join(modules, scope))) this.#visit(modules, `${scope}/${name}`);
  }

  #visit(modules: string, name: string): void {
    const folder = realPathOf(path.join(modules, name));
    if (folder === undefined) return;
    const version = name.startsWith('@coll/') ? publishedVersionIn(folder) : undefined;
    if (version !== undefined) this.found.set(folder, { name, version, folder });
    this.collect(path.join(folder, 'node_modules'));
  }
}

/** The version in a manifest; undefined for packages that are not published. */
function publishedVersionIn(folder: string): string | undefined {
  try {
    const manifest: unknown = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
    const { version, private: isPrivate } = Object(manifest) as {
      readonly version?: unknown;
      readonly private?: unknown;
    };
    return typeof version === 'string' && isPrivate !== true ? version : undefined;
  } catch {
    return undefined;
  }
}

function realPathOf(folder: string): string | undefined {
  try {
    return realpathSync(folder);
  } catch {
    return undefined;
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
