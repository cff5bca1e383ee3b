import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const module = path.join(import.meta.dirname, 'run.mjs');

// A process that a shell starts and waits for, as with compilers and npm scripts.
const grandchild = `sh -c 'echo ready; sleep 1000; true'; true`;

/** Runs a program that can use `run`; `ready` resolves when the grandchild has been started. */
function start(program: string) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', `import { run } from '${module}';\n${program}`]);
  return { child, ready: once(child.stdout, 'data'), ended: once(child, 'close') };
}

describe('a command that runs in the background', () => {
  it('ends with all its processes when a signal reaches the program', async () => {
    const { child, ready, ended } = start(`
      const onOutput = (text) => process.stdout.write(text);
      const { code, stoppedWith } = await run(['sh', '-c', ${JSON.stringify(grandchild)}], { onOutput });
      process.exit(stoppedWith ?? code);
    `);
    await ready;
    child.kill('SIGTERM');
    expect(await ended).toEqual([143, null]);
  });

  it('ends with all its processes when it is aborted', async () => {
    const { ended } = start(`
      const abort = new AbortController();
      const onOutput = () => abort.abort();
      const { code } = await run(['sh', '-c', ${JSON.stringify(grandchild)}], { onOutput, abort: abort.signal });
      process.exit(code);
    `);
    expect(await ended).toEqual([143, null]);
  });

  it('returns its output and exit code', async () => {
    const { ready } = start(`
      console.log(JSON.stringify(await run(['sh', '-c', 'echo one; echo two >&2; exit 3'], { onOutput() {} })));
    `);
    const [text] = await ready;
    expect(JSON.parse(text)).toEqual({ code: 3, output: expect.stringMatching(/^(one\ntwo|two\none)\n$/) });
  });
});
