import type { Segments } from '../runtime/communicator.js';
import { slice } from '../values/concatenate.js';
import type { TypedArray } from '../values/dtype.js';
import { hasLength } from '../values/has-length.js';
import type { Tensor } from '../values/tensor.js';
import type { Piece } from './arrangement.js';

interface View {
  readonly begin: number;
  readonly end: number;
  readonly data: TypedArray;
}

/**
 * Maximum number of cached views per array, so that the cache does not grow if a caller cuts an
 * array differently each time.
 */
const mostViews = 64;

/**
 * Cached views of parts of arrays. The same part always gives the same view, so that repeated calls
 * are recognized.
 */
export class Views {
  readonly #known = new WeakMap<TypedArray, View[]>();

  /** Views of the pieces as one rank's buffer, without a copy. */
  cut(tensors: readonly Tensor[], pieces: readonly Piece[]): Segments {
    const [single, ...others] = pieces as readonly [Piece, ...Piece[]];
    return others.length === 0 ? this.#view(tensors, single) : pieces.map((piece) => this.#view(tensors, piece));
  }

  /** Elements `[begin, end)` of a tensor; the tensor itself if that is all of them. */
  of(tensor: Tensor, begin: number, end: number): Tensor {
    const { data, dtype, device } = tensor;
    if (begin === 0 && end === data.length) return tensor;
    let views = this.#known.get(data);
    if (!views) {
      views = [];
      this.#known.set(data, views);
    }
    let view = views.find((known) => known.begin === begin && known.end === end && hasLength(known.data, end - begin));
    if (!view) {
      if (views.length >= mostViews) views.length = 0;
      view = { begin, end, data: slice(tensor, begin, end).data };
      views.push(view);
    }
    return { data: view.data, dtype, shape: [end - begin], device };
  }

  #view(tensors: readonly Tensor[], { index, begin, end }: Piece): Tensor {
    return this.of(tensors[index] as Tensor, begin, end);
  }
}
