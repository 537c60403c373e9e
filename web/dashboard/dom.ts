// Elements with text. Nothing here, or anywhere on the page, reads text as HTML: what clients and handlers say stays
// text.

export const byId = (id: string): HTMLElement => {
  const element = document.getElementById(id);
  if (!element) throw new Error(`no element ${id}`);
  return element;
};

export function make<K extends keyof HTMLElementTagNameMap>(
  name: K,
  className = "",
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

/** Sets a text where it is another one: what has not changed keeps its selection, and is not read out again. */
export function say(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Characters that would change the order of others, or cannot be seen, made visible. */
export const plain = (text: string): string =>
  text.replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, "\ufffd");

/** The elements of a list, one for each item, made when an item is new and removed when it has gone. */
export class Keyed<T> {
  private readonly elements = new Map<number | string, HTMLElement>();

  constructor(
    private readonly list: HTMLElement,
    private readonly key: (item: T) => number | string,
    private readonly create: (item: T) => HTMLElement,
    private readonly update: (element: HTMLElement, item: T) => void,
  ) {}

  show(items: T[]): void {
    const keys = new Set(items.map(this.key));
    for (const [key, element] of this.elements) {
      if (keys.has(key)) continue;
      element.remove();
      this.elements.delete(key);
    }
    items.forEach((item, at) => {
      const key = this.key(item);
      let element = this.elements.get(key);
      if (!element) this.elements.set(key, (element = this.create(item)));
      this.update(element, item);
      // moving an element takes the focus from it
      if (this.list.children[at] !== element) this.list.insertBefore(element, this.list.children[at] ?? null);
    });
  }
}
