// Only V8 has this limit, which its types do not declare for browsers.
const traces = Error as unknown as { stackTraceLimit: number };

/** Makes an error whose stack has no frames. */
export function withoutStack<E extends Error>(make: () => E): E {
  const { stackTraceLimit } = traces;
  traces.stackTraceLimit = 0;
  try {
    return make();
  } finally {
    traces.stackTraceLimit = stackTraceLimit;
  }
}

/** Whether the stack of an error has frames. */
export function hasStack({ stack = '' }: Error): boolean {
  return /\n\s+at /.test(stack);
}
