import { formatMicros, threeDigits } from './numbers.js';
import type { Row } from './row.js';

/** Cells of tables; empty for what was not measured. */

export function timeOf(row: Row | undefined): string {
  return row ? formatMicros(row.medianMicros) : '';
}

export function plain(ratio: number | undefined): string {
  return ratio === undefined ? '' : threeDigits(ratio);
}

export function bold(ratio: number | undefined): string {
  return ratio === undefined ? '' : `**${threeDigits(ratio)}**`;
}

export function percent(share: number | undefined): string {
  return share === undefined ? '' : `${threeDigits(share * 100)} %`;
}
