// Runs what build.mjs has built: GoogleTest programs, and the addon under sanitizers in Node.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { folder } from './flags.mjs';
import { CommandFailed, runToEnd } from './run-to-end.mjs';

const reports = path.resolve(folder, '../../reports');
const scripts = path.join(folder, 'test/sanitized');
const longestSeconds = 300;

const sanitizers = {
  asan: {
    library: 'libasan.so',
    // Node itself leaks by design.
    inNode: { ASAN_OPTIONS: 'detect_leaks=0' },
  },
  tsan: {
    library: 'libtsan.so',
    // V8's own threads synchronise in ways that TSan has not seen being compiled.
    inNode: { TSAN_OPTIONS: 'exitcode=66:ignore_noninstrumented_modules=1' },
  },
};

/** Runs coll_tests of a build folder, in an emulator where given; reports/cpp-<folder>.json counts them. */
export function runCppTests(build, emulator = []) {
  mkdirSync(reports, { recursive: true });
  const report = path.join(reports, `cpp-${path.basename(build)}.json`);
  const tests = [path.join(build, 'coll_tests'), '--gtest_brief=1', `--gtest_output=json:${report}`];
  const [command, ...args] = [...(emulator.length > 0 ? emulator : fixedAddresses()), ...tests];
  runToEnd(command, args, { timeoutSeconds: longestSeconds });
}

/** Runs coll_tests, then every script of test/sanitized in Node with the addon, all under a sanitizer. */
export function runSanitized(name, build) {
  runCppTests(build);
  const { library, inNode } = sanitizers[name];
  if (!existsSync(path.join(folder, 'dist/index.js'))) throw new CommandFailed('dist is missing: npm run build');
  const env = {
    ...inNode,
    // Node is not instrumented, so the run-time library has to be there before it.
    LD_PRELOAD: spawnSync('c++', [`-print-file-name=${library}`], { encoding: 'utf8' }).stdout.trim(),
    COLL_NATIVE_PATH: path.join(build, 'coll_native.node'),
  };
  for (const script of existsSync(scripts) ? readdirSync(scripts).filter((file) => file.endsWith('.mjs')) : []) {
    console.log(`${name}: ${script}`);
    const [command, ...args] = [...fixedAddresses(), process.execPath, path.join(scripts, script)];
    runToEnd(command, args, { env, timeoutSeconds: longestSeconds });
  }
}

// Sanitizers expect their shadow memory at fixed places, which kernels that randomise 32 bits may have taken.
function fixedAddresses() {
  const prefix = ['setarch', '-R'];
  return spawnSync(prefix[0], [...prefix.slice(1), 'true']).status === 0 ? prefix : [];
}
