import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { makeParts } from './bundle.js';

/** Checks this machine with this Node: `npm run gpu-check [-- folder for the report]` in a checkout. */
const bundle = mkdtempSync(path.join(tmpdir(), 'coll-gpu-check-'));
try {
  await makeParts(bundle);
  // npm runs the scripts of a workspace in its folder. The folder for the report is relative to the folder of the
  // caller.
  const reports = path.resolve(process.env['INIT_CWD'] ?? '.', process.argv[2] ?? 'docs/gpu');
  const env = { ...process.env, GPU_CHECK_NODE: process.execPath };
  const { status } = spawnSync('sh', [path.join(bundle, 'run.sh'), reports], { env, stdio: 'inherit' });
  process.exitCode = status ?? 1;
} finally {
  rmSync(bundle, { recursive: true, force: true });
}
