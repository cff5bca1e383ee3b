import type { TypedArray } from '../dtype.js';
import type { Tensor } from '../tensor.js';
import { slice } from './concatenate.js';

interface View {
  readonly begin: number;
  readonly end: number;
  readonly data: TypedArray;
}

/** Of one array. Whoever cuts it otherwise again and again gains nothing by old ones. */
const mostViews = 64;

/** Views of parts of arrays, the same ones again for the same parts, so that a call on them is known when it comes again. */
export class Views {
  readonly #known = new WeakMap<TypedArray, View[]>();

  /** The elements from `begin` to `end`; all of them are the tensor itself. */
  of(tensor: Tensor, begin: number, end: number): Tensor {
    const { data, dtype, device } = tensor;
    if (begin === 0 && end === data.length) return tensor;
    let views = this.#known.get(data);
    if (!views) {
      views = [];
      this.#known.set(data, views);
    }
    let view = views.find((known) => known.begin === begin && known.end === end && known.data.length === end - begin);
    if (!view) {
      if (views.length >= mostViews) views.length = 0;
      view = { begin, end, data: slice(tensor, begin, end).data };
      views.push(view);
    }
    return { data: view.data, dtype, shape: [end - begin], device };
  }
}
