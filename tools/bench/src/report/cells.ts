/** Texts of table cells. An unknown value gives an empty cell. */

/** Microseconds in the unit that reads best, with three digits. */
export function formatMicros(micros: number): string {
  if (micros < 1e3) return `${threeDigits(micros)} µs`;
  return micros < 1e6 ? `${threeDigits(micros / 1e3)} ms` : `${threeDigits(micros / 1e6)} s`;
}

/** Three significant digits, never an exponent. */
export function threeDigits(value: number): string {
  if (value === 0) return '0';
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toFixed(Math.min(digits, 6));
}

export function timeOf(row: { readonly medianMicros: number } | undefined): string {
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
