import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { CollError } from '@coll/core';
import { collectorFlags } from '@coll/native/machine';
import type { RunRequest } from './arguments.js';

/** The command that starts a rank. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
}

const script = /\.([cm]?[jt]s|tsx)$/;

/** Whether a program is a script, by its name. */
export function isScript(program: string): boolean {
  return script.test(program);
}

const typescript = /\.([cm]?ts|tsx)$/;

/**
 * The command for a program: scripts run under this Node.js, with a loader if they are TypeScript,
 * and the options that suit the number of ranks; anything else is run as a command.
 * @throws CollError if a script does not exist, or is TypeScript and cannot be loaded
 */
export function commandFor({ program, args, isCommand, ranks }: RunRequest): Command {
  if (isCommand || !isScript(program)) return { file: program, args };
  if (!existsSync(program)) {
    const advice = 'pass the path of an existing script, or pass --command to run a command of that name';
    throw new CollError('ERR_COLL_MODULE', `there is no script ${path.resolve(program)}: ${advice}`);
  }
  const loader = typescript.test(program) ? typescriptLoader(path.resolve(program)) : [];
  // The path is absolute, because Node.js would read a name such as --eval.js as an option.
  return { file: process.execPath, args: [...collectorFlags(ranks), ...loader, path.resolve(program), ...args] };
}

/**
 * The arguments that let Node.js run a TypeScript file.
 * @throws CollError if neither tsx nor Node.js can run it
 */
function typescriptLoader(file: string): readonly string[] {
  const tsx = findTsx(file);
  if (tsx !== undefined) return ['--import', tsx];
  if ((process.features as { typescript?: unknown }).typescript) return [];
  throw new CollError(
    'ERR_COLL_MODULE',
    `${file} is TypeScript, which Node ${process.versions.node} cannot run by itself: npm install tsx, or use a Node that strips types (22.18 or later)`,
  );
}

/**
 * The URL of the tsx loader installed in this file's project; undefined if tsx is not installed
 * there.
 */
function findTsx(file: string): string | undefined {
  try {
    const manifest = createRequire(file).resolve('tsx/package.json');
    const { exports } = JSON.parse(readFileSync(manifest, 'utf8')) as { exports: Record<string, string> };
    return new URL(exports['.'] as string, pathToFileURL(manifest)).href;
  } catch {
    return undefined;
  }
}
