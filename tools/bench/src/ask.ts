import type { ChildProcess, Serializable } from 'node:child_process';

/** What a process answers to an order. */
type Answer<Result> = { readonly result: Result } | { readonly error: unknown };

/**
 * Sends an order to a process, and waits for the answer.
 * @param name for error messages, such as `rank 0`
 * @throws Error if the order fails, or if the process ends
 */
export function ask<Result>(child: ChildProcess, name: string, order: Serializable): Promise<Result> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null, signal: string | null) =>
      reject(new Error(`the process of ${name} ended with ${signal ?? `exit code ${code}`}; its output is above`));
    if (child.exitCode !== null || child.signalCode !== null) {
      onExit(child.exitCode, child.signalCode);
      return;
    }
    child.once('exit', onExit);
    child.once('message', (answer: Answer<Result>) => {
      child.off('exit', onExit);
      if (!('error' in answer)) resolve(answer.result);
      else reject(new Error(`${name}: ${answer.error instanceof Error ? answer.error.stack : String(answer.error)}`));
    });
    child.send(order);
  });
}

/** Answers each order of the process that started this one. */
export function answerOrders<Order>(carryOut: (order: Order) => Promise<unknown>): void {
  const answer = async (order: Order) => {
    try {
      process.send?.({ result: await carryOut(order) });
    } catch (error) {
      process.send?.({ error });
    }
  };
  process.on('message', (order: Order) => void answer(order));
}
