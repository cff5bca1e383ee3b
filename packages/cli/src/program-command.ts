import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { CollError } from '@coll/core';

/** What to start for each rank. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
}

const script = /\.([cm]?[jt]s|tsx)$/;
const typescript = /\.([cm]?ts|tsx)$/;

/**
 * How a program is started: a script by this Node, with a loader where it is TypeScript, and everything else as a command.
 * @throws CollError for a script that is not there, or is TypeScript that nothing can load
 */
export function commandFor(program: string, args: readonly string[], isCommand: boolean): Command {
  if (isCommand || !script.test(program)) return { file: program, args };
  if (!existsSync(program)) {
    const cure = 'pass the path of an existing script, or pass --command to run a command of that name';
    throw new CollError('ERR_COLL_MODULE', `there is no script ${path.resolve(program)}: ${cure}`);
  }
  const loader = typescript.test(program) ? typescriptLoader(path.resolve(program)) : [];
  // As a path, a name such as --eval.js would be taken for an option of Node.
  return { file: process.execPath, args: [...loader, path.resolve(program), ...args] };
}

/** Arguments of Node that let it run TypeScript. */
function typescriptLoader(file: string): readonly string[] {
  const tsx = findTsx(file);
  if (tsx !== undefined) return ['--import', tsx];
  if ((process.features as { typescript?: unknown }).typescript) return [];
  throw new CollError(
    'ERR_COLL_MODULE',
    `${file} is TypeScript, which Node ${process.versions.node} cannot run by itself: npm install tsx, or use a Node that strips types (22.18 or later)`,
  );
}

/** The loader of tsx, where the project of this file has one. */
function findTsx(file: string): string | undefined {
  try {
    const manifest = createRequire(file).resolve('tsx/package.json');
    const { exports } = JSON.parse(readFileSync(manifest, 'utf8')) as { exports: Record<string, string> };
    return new URL(exports['.'] as string, pathToFileURL(manifest)).href;
  } catch {
    return undefined;
  }
}
