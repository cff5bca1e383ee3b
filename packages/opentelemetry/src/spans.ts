import { type CallEvent, CollError } from '@coll/core';
import { type Attributes, SpanStatusCode, type Tracer } from '@opentelemetry/api';
import { subscribe } from './subscribe.js';

/** Makes a span of each call, a child of the caller's active span. Returns a function that ends this. */
export function recordSpans(tracer: Tracer): () => void {
  return subscribe({
    begin(event) {
      const span = tracer.startSpan(event.operation, { attributes: attributesOf(event) });
      return () => {
        const { error } = event;
        if ('error' in event) {
          span.setAttribute('error.type', errorType(error));
          span.setStatus({ code: SpanStatusCode.ERROR, ...(error instanceof Error ? { message: error.message } : {}) });
          if (error instanceof Error) span.recordException(error);
        }
        span.end();
      };
    },
  });
}

/** Low-cardinality name of an error, by the semantic conventions: the code of an error of coll. */
export function errorType(error: unknown): string {
  if (error instanceof CollError) return error.code;
  return error instanceof Error ? error.name : typeof error;
}

/** Each field of the event, in the namespace `coll`. */
function attributesOf(event: CallEvent): Attributes {
  const { operation, kind, op, dtype, elements, bytes, peer, group, rank, size, number } = event;
  const fields = { operation, kind, op, dtype, elements, bytes, peer, group, rank, size, number };
  const { algorithm, engine, transport } = event;
  const all = Object.entries({ ...fields, algorithm, engine, transport });
  return Object.fromEntries(all.map(([name, value]) => [`coll.${name}`, value]));
}
