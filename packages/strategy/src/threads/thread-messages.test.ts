import { expect, it } from 'vitest';
import { post } from './thread-messages.js';

const port = { postMessage: (message: unknown) => void structuredClone(message) };
const messageOf = (value: unknown) => {
  try {
    post(port, { type: 'report', value }, 'a report');
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('the value was posted');
};

it('post() names the value that cannot be posted, with the source of a short function', () => {
  const told = 'a report cannot be sent to another thread (() => 1 could not be cloned.); use plain data and tensors';
  expect(messageOf(() => 1)).toBe(told);
});

it('post() shortens the source of a long function', () => {
  function long() {
    const text = 'a source of several lines, and of more characters than a message should have';
    return text;
  }
  const told = messageOf({ long });
  expect(told).toMatch(
    /^a report cannot be sent to another thread \(function long\(\) ?{ … could not be cloned\.\); use/,
  );
  expect(told).not.toContain('\n');
});
