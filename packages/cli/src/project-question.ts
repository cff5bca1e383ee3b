import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { messageOf } from '@coll/core/internal';
import { LastLines } from './last-lines.js';
import type { Answers } from './project-answers.js';
import { WholeLines } from './whole-lines.js';

/** What a package of the project answers, or why it does not. */
export type Reply<Answer> = { readonly answer: Answer } | { readonly failure: string };

// The driver of a GPU may take several seconds to start.
const mostSeconds = 30;

/**
 * Asks the packages that a project has installed, in a process of its own: native libraries may
 * crash, print, or hang.
 * @param folder the project, or a folder in it
 */
export async function askProject<Subject extends keyof Answers>(
  subject: Subject,
  folder: string,
  seconds = mostSeconds,
): Promise<Reply<Answers[Subject]>> {
  const isSource = import.meta.url.endsWith('.ts');
  const file = fileURLToPath(new URL(`./project-answers${isSource ? '.ts' : '.js'}`, import.meta.url));
  const child = spawn(process.execPath, [...(isSource ? process.execArgv : []), file], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const lastLines = new LastLines();
  child.stderr?.pipe(new WholeLines()).on('data', (text: Buffer) => lastLines.add(text));
  const tooLate = new AbortController();
  const timer = setTimeout(() => tooLate.abort(), seconds * 1000);
  try {
    child.send({ subject, folder }, () => {});
    const told = once(child, 'message', tooLate).then(([reply]) => reply as Reply<Answers[Subject]>);
    const ended = once(child, 'close', tooLate).then(([code, signal]) => ({
      failure: [`its process ended by ${signal ?? `exit code ${code}`}`, ...lastLines.read().slice(-1)].join(': '),
    }));
    return await Promise.race([told, ended]);
  } catch (error) {
    if (tooLate.signal.aborted) return { failure: `no answer within ${seconds} seconds` };
    return { failure: messageOf(error) };
  } finally {
    clearTimeout(timer);
    child.kill('SIGKILL');
  }
}
