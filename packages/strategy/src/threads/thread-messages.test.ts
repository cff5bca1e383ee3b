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
  const message =
    'a report cannot be sent to another thread (() => 1 could not be cloned.); use plain data and tensors';
  expect(messageOf(() => 1)).toBe(message);
});

it('post() shortens the source of a long function', () => {
  function long() {
    const text = 'a source of several lines, and of more characters than a message should have';
    return text;
  }
  const message = messageOf({ long });
  expect(message).toMatch(
    /^a report cannot be sent to another thread \(function long\(\) ?{ … could not be cloned\.\); use/,
  );
  expect(message).not.toContain('\n');
});
