import { describe, expect, it } from 'vitest';
import { outcomeOf } from './outcome.ts';

const ended = { code: 0, stdout: '', stderr: '' };

describe('the outcome of a program', () => {
  it('is ok if every process has reported so, and stderr has only notices of the runtime', () => {
    const stderr =
      '(node:7) ExperimentalWarning: Type Stripping is an experimental feature\n(Use `node --trace-warnings ...` to show where the warning was created)\n';
    expect(outcomeOf({ ...ended, stdout: 'door: ok\n', stderr })).toEqual({ result: 'ok' });
    expect(outcomeOf({ ...ended, stdout: '[1] door: ok\n[0] door: ok\n' }, 2)).toEqual({ result: 'ok' });
  });

  it('is a refusal with the code and the message of coll', () => {
    const stdout = 'door: refused ERR_COLL_STORE no TLS\n';
    expect(outcomeOf({ ...ended, stdout })).toEqual({ result: 'refused', code: 'ERR_COLL_STORE', note: 'no TLS' });
  });

  it.each([
    ['a process is silent', { ...ended, stdout: '[0] door: ok\n' }, 2],
    ['the exit code is not 0', { ...ended, stdout: 'door: ok\n', code: 1 }, 1],
    ['the program did not end', { ...ended, stdout: 'door: ok\n', code: undefined }, 1],
    ['an error was printed', { ...ended, stdout: 'door: ok\n', stderr: 'Uncaught TypeError\n' }, 1],
  ] as const)('is a failure if %s', (_, program, processes) => {
    expect(outcomeOf(program, processes)).toMatchObject({ result: 'failed', note: expect.any(String) });
  });
});
