// Runs what build.mjs has built: GoogleTest programs, and the addon under sanitizers in Node.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { findCompiler } from './compiler.mjs';
import { folder, name as itsName, pathVariable, sanitized } from './flags.mjs';
import { CommandFailed, runToEnd } from './run-to-end.mjs';

const reports = path.resolve(folder, '../../reports');
const longestSeconds = 600;

const sanitizers = {
  asan: {
    library: 'libasan.so',
    // Node itself leaks by design.
    inNode: { ASAN_OPTIONS: 'detect_leaks=0' },
  },
  tsan: {
    library: 'libtsan.so',
    // These run in one thread, and their tests are long.
    filter: '-Kernels/*:SlotBlocks.*',
    // V8's own threads synchronise in ways that TSan has not seen being compiled.
    inNode: { TSAN_OPTIONS: 'exitcode=66:ignore_noninstrumented_modules=1' },
  },
};

/**
 * Runs coll_tests of a build folder, in an emulator where given; reports/cpp-<folder>.json counts them. A short run is for what is
 * slow: it tries fewer numbers of inputs and outputs.
 */
export function runCppTests(build, { emulator = [], filter = '*', isShort = false } = {}) {
  mkdirSync(reports, { recursive: true });
  const report = path.join(reports, `${reportName(build)}.json`);
  const options = [`--gtest_filter=${filter}`, `--gtest_output=json:${report}`];
  const prefix = emulator.length > 0 ? emulator : fixedAddresses();
  const args = [...prefix, path.join(build, 'coll_tests'), ...options];
  const env = isShort ? { COLL_TEST_GRID: 'short' } : {};
  try {
    // What tests and their processes complain about follows the test's name.
    const output = runToEnd('sh', ['-c', 'exec "$0" "$@" 2>&1', ...args], {
      quiet: true,
      env,
      timeoutSeconds: longestSeconds,
    });
    console.log(output.match(/^\[(==========| {2}PASSED {2})\].*/gm).join('\n'));
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    throw new CommandFailed(
      `${path.relative(folder, build)}/coll_tests ${error.how}; failed: ${failedTests(error.output).join(', ')}`,
    );
  }
}

/** Also those that have begun and never ended: a test that crashed or hung. */
function failedTests(output) {
  const named = (mark) =>
    [...output.matchAll(new RegExp(`^\\[ *${mark} *\\] ([^\\s,]+\\.[^\\s,]+)`, 'gm'))].map(([, test]) => test);
  const well = new Set([...named('OK'), ...named('SKIPPED')]);
  return named('RUN').filter((test) => !well.has(test));
}

/** Runs coll_tests, then every script of the `sanitized` folders in Node with the addon, all under a sanitizer. */
export function runSanitized(name, build) {
  const { filter, ...sanitizer } = sanitizers[name];
  if (!existsSync(path.join(folder, 'dist/index.js'))) throw new CommandFailed('dist is missing: npm run build');
  const scriptsInNode = scripts().map((script) => ({
    name: path.basename(script),
    run: () => runInNode(script, build, sanitizer),
  }));
  const all = [{ name: 'coll_tests', run: () => runCppTests(build, { filter, isShort: true }) }, ...scriptsInNode];
  const failures = all.flatMap(({ name: part, run }) => {
    console.log(`${name}: ${part}`);
    return failureOf(run) ?? [];
  });
  if (failures.length > 0) throw new CommandFailed(`${name}: ${failures.join(', ')}`);
}

function scripts() {
  const folders = sanitized.map((scripts) => path.join(folder, scripts));
  return folders.flatMap((scripts) => readdirSync(scripts).map((script) => path.join(scripts, script)));
}

function runInNode(script, build, { library, inNode }) {
  const env = {
    ...inNode,
    // Node is not instrumented, so the run-time library has to be there before it.
    LD_PRELOAD: spawnSync(findCompiler().command, [`-print-file-name=${library}`], { encoding: 'utf8' }).stdout.trim(),
    [pathVariable]: path.join(build, `${itsName}.node`),
  };
  const [command, ...args] = [...fixedAddresses(), process.execPath, script];
  runToEnd(command, args, { env, timeoutSeconds: longestSeconds });
}

function failureOf(run) {
  try {
    run();
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    return error.message;
  }
}

const reportName = (build) => `cpp-${itsName === 'coll_native' ? '' : `${itsName}-`}${path.basename(build)}`;

// Sanitizers expect their shadow memory at fixed places, which kernels that randomise 32 bits may have taken.
function fixedAddresses() {
  const prefix = ['setarch', '-R'];
  return spawnSync(prefix[0], [...prefix.slice(1), 'true']).status === 0 ? prefix : [];
}
