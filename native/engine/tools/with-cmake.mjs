import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { findCMake } from './compiler.mjs';
import { folder, name, nodeApiDefinition, nodeApiIncludes } from './flags.mjs';
import { oneAtATime } from './one-at-a-time.mjs';
import { CommandFailed, runToEnd } from './run-to-end.mjs';

const always = [
  `COLL_NODE_API_INCLUDES=${nodeApiIncludes.join(';')}`,
  // For Windows, whose linker wants to know what Node exports.
  `COLL_NODE_API_DEFINITION=${nodeApiDefinition}`,
];

/**
 * Builds targets into a folder of build/. Configures when a setting has changed, and for tests each time: GoogleTest may have
 * been installed since.
 */
export function buildWithCMake({ into, settings, targets = [name] }) {
  const cmake = findCMake();
  if (cmake === undefined) throw new CommandFailed('this needs CMake 3.19 or newer, and Ninja or Make');
  oneAtATime(into, () => buildIn(into, cmake, settings, targets));
}

function buildIn(into, cmake, settings, targets) {
  const configure = [
    '-S',
    folder,
    '-B',
    into,
    '-G',
    cmake.generator,
    ...[...always, ...settings].map((it) => `-D${it}`),
  ];
  const stamp = path.join(into, '.configured');
  const hash = createHash('sha256').update(configure.join('\n')).digest('hex');
  const isConfigured = existsSync(stamp) && readFileSync(stamp, 'utf8') === hash;
  // A cache of other settings would keep what is not named now.
  if (!isConfigured) rmSync(path.join(into, 'CMakeCache.txt'), { force: true });
  const wantsTests = targets.includes('coll_tests');
  if (!isConfigured || wantsTests) {
    mkdirSync(into, { recursive: true });
    runToEnd('cmake', [...configure, ...(wantsTests ? ['-DCOLL_TESTS=ON'] : [])], { quiet: true });
    writeFileSync(stamp, hash);
  }
  // Without a number, Make would start all compilers at once.
  const jobs = String(availableParallelism());
  runToEnd('cmake', ['--build', into, '--parallel', jobs, '--target', ...targets], { showsProgress: true });
}
