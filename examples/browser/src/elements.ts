/** The element of the page with this id. */
export function find<Kind extends HTMLElement = HTMLElement>(id: string): Kind {
  return document.getElementById(id) as Kind;
}

/** A new element with a text. */
export function make(tag: string, className: string, text = ''): HTMLElement {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = text;
  return element;
}

const wholeNumber = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

export const whole = (value: number): string => wholeNumber.format(value);
export const percent = (share: number): string => `${(100 * share).toFixed(0)}\u00a0%`;
