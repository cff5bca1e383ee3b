import { type Tensor, tensor, ValueError } from '@coll/core';
import type { ReplicaContext } from '@coll/strategy';
import type { ReplicaInfo } from '@coll/strategy/internal';
import { rowsOfText, textOfRows } from './rows-as-text.js';
import { type Elements, type Form, isTyped, type Nesting, type Table, type Tables } from './tables.js';

type Broadcaster = ReplicaInfo & Pick<ReplicaContext, 'broadcastSync'>;

/** What describes the bytes of tables. */
interface Header {
  readonly nesting: Nesting;
  readonly rows: number;
  readonly tables: readonly { readonly form: Form; readonly type: TypeName | undefined; readonly bytes: number }[];
}

const types = {
  ...{ Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array },
  ...{ Float32Array, Float64Array, BigInt64Array, BigUint64Array },
} as const;

type TypeName = keyof typeof types;

/** Typed arrays begin at multiples of their largest element. */
const alignment = 8;

/** What a replica shares: data at once, or the batches of a dataset one by one. */
const sources = ['data', 'a dataset'] as const;

/**
 * The tables of replica `root`, on all replicas; undefined if it has none.
 * @throws ValueError if the root shares from another source
 */
export function broadcastTables(
  source: (typeof sources)[number],
  own: Tables | undefined,
  context: Broadcaster,
  root: number,
): Tables | undefined {
  const bytes = own ? bytesOf(own) : new Uint8Array();
  const described = Float64Array.of(bytes.length, sources.indexOf(source));
  const [length = 0, sourceOfRoot = 0] = broadcast(described, context, root) as Float64Array;
  if (sources[sourceOfRoot] !== source) {
    const must = source === 'data' ? 'pass a dataset, such as tf.data.array([])' : 'pass undefined or data';
    const message = `replica ${root} shares ${sources[sourceOfRoot]}, so all other replicas must ${must}`;
    throw new ValueError('ERR_COLL_VALUE', `shareOf: ${message}`, { operation: 'shareOf' });
  }
  if (length === 0) return undefined;
  const received = broadcast(own ? bytes : new Uint8Array(length), context, root) as Uint8Array;
  return own ?? tablesIn(received);
}

function broadcast(values: Float64Array | Uint8Array, context: Broadcaster, root: number) {
  return (context.broadcastSync(tensor(values), root) as Tensor).data;
}

/** The length of the header, the header, and the elements of each table. */
function bytesOf({ nesting, rows, tables }: Tables): Uint8Array {
  const parts = tables.map(({ elements }) => partOf(elements));
  const header: Header = {
    nesting,
    rows,
    tables: tables.map(({ form, elements }, index) => ({
      form,
      type: isTyped(elements) ? (elements.constructor.name as TypeName) : undefined,
      bytes: (parts[index] as Uint8Array).length,
    })),
  };
  const text = new TextEncoder().encode(JSON.stringify(header));
  let end = aligned(alignment + text.length);
  const begins = parts.map(({ length }) => {
    const begin = end;
    end = aligned(end + length);
    return begin;
  });
  const bytes = new Uint8Array(end);
  new DataView(bytes.buffer).setUint32(0, text.length);
  bytes.set(text, alignment);
  for (const [index, part] of parts.entries()) bytes.set(part, begins[index]);
  return bytes;
}

function tablesIn(received: Uint8Array): Tables {
  // A view may begin anywhere.
  const bytes = received.byteOffset % alignment === 0 ? received : received.slice();
  const { buffer, byteOffset } = bytes;
  const length = new DataView(buffer, byteOffset).getUint32(0);
  const text = bytes.slice(alignment, alignment + length);
  const { nesting, rows, tables: described } = JSON.parse(new TextDecoder().decode(text)) as Header;
  let end = aligned(alignment + length);
  const tables = described.map(({ form, type, bytes: size }): Table => {
    const begin = end;
    end = aligned(end + size);
    return { form, elements: elementsIn(bytes.subarray(begin, begin + size), type) };
  });
  return { nesting, tables, rows };
}

function partOf(elements: Elements): Uint8Array {
  if (!isTyped(elements)) return new TextEncoder().encode(textOfRows(elements));
  return new Uint8Array(elements.buffer, elements.byteOffset, elements.byteLength);
}

function elementsIn(bytes: Uint8Array, type: TypeName | undefined): Elements {
  if (type === undefined) return rowsOfText(new TextDecoder().decode(bytes));
  const { BYTES_PER_ELEMENT: size } = types[type];
  return new types[type](bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength / size);
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / alignment) * alignment;
}
