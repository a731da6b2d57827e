/**
 * Renders the chart. Our templates keep to a part of Helm's language, and this reads exactly that part and refuses the
 * rest: values by path, `if`/`else`, `with`, `range`, `define`, `include`, pipes, and the functions below.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments, stringify } from 'yaml';

type Value = unknown;
type Scope = { readonly dot: Value; readonly root: Value };
type Node =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'value'; readonly pipe: string }
  | { readonly kind: 'block'; readonly word: 'if' | 'with' | 'range'; readonly branches: readonly Branch[] };
interface Branch {
  /** Null is `else`. */
  readonly pipe: string | null;
  readonly nodes: readonly Node[];
}

export interface Rendered {
  /** Every object of every template but the notes. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into objects of every kind
  readonly objects: readonly any[];
  readonly notes: string;
}

export function renderChart(chart: string, given: object, service = 'Helm'): Rendered {
  const about = parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8'));
  const values = merged(parse(readFileSync(join(chart, 'values.yaml'), 'utf8')), given);
  const root = {
    Values: values,
    Chart: { Name: about.name, Version: about.version, AppVersion: about.appVersion },
    Release: { Name: 'strongroom', Namespace: 'default', Service: service },
  };
  const templates = new Templates();
  const texts = globSync('templates/**/*.{yaml,tpl,txt}', { cwd: chart })
    .sort()
    .map(file => [file, templates.read(readFileSync(join(chart, file), 'utf8'))] as const);
  const rendered = texts.map(
    ([file, nodes]) => [file, templates.render(nodes, { dot: root, root })] as const,
  );
  const objects = rendered
    .filter(([file]) => file.endsWith('.yaml'))
    .flatMap(([, text]) => parseAllDocuments(text).map(document => strict(document).toJS()));
  const notes = rendered.find(([file]) => file.endsWith('NOTES.txt'))![1];
  return { objects: objects.filter(object => object !== null), notes };
}

function strict<T extends { readonly errors: readonly Error[] }>(document: T): T {
  const [error] = document.errors;
  if (error !== undefined) throw error;
  return document;
}

export function merged(base: Value, given: Value): Value {
  if (!isMap(base) || !isMap(given)) return given;
  const names = new Set([...Object.keys(base), ...Object.keys(given)]);
  return Object.fromEntries(
    [...names].map(name => [name, name in given ? merged(base[name], given[name]) : base[name]]),
  );
}

function isMap(value: Value): value is Record<string, Value> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isEmpty(value: Value): boolean {
  if (isMap(value)) return Object.keys(value).length === 0;
  return Array.isArray(value) ? value.length === 0 : !value;
}

class Templates {
  readonly #defined = new Map<string, readonly Node[]>();

  read(source: string): readonly Node[] {
    const parts = source.split(/(\{\{(?:(?!\}\})[\s\S])*\}\})/);
    const tokens = parts.map((part, at) => {
      if (at % 2 === 1) return { action: part.replace(/^\{\{-?\s*|\s*-?\}\}$/g, '') };
      const text = parts[at - 1]?.endsWith('-}}') ? part.trimStart() : part;
      return { text: parts[at + 1]?.startsWith('{{-') ? text.trimEnd() : text };
    });
    return this.#nodes(tokens.filter(({ text, action }) => text !== '' && !action?.startsWith('/*')));
  }

  /** Up to the `else` or `end` that is not its own, which stays. */
  #nodes(tokens: { text?: string; action?: string }[]): readonly Node[] {
    const nodes: Node[] = [];
    while (tokens.length > 0) {
      const { text, action = '' } = tokens[0]!;
      if (/^(else|end)\b/.test(action)) break;
      tokens.shift();
      const [, word, rest = ''] = /^(if|with|range|define)\s+(.*)$/s.exec(action) ?? [];
      if (text !== undefined) nodes.push({ kind: 'text', text });
      else if (word === undefined) nodes.push({ kind: 'value', pipe: action });
      else if (word === 'define') this.#define(JSON.parse(rest), tokens);
      else nodes.push({ kind: 'block', word: word as 'if', branches: this.#branches(rest, tokens) });
    }
    return nodes;
  }

  #define(name: string, tokens: { action?: string }[]): void {
    this.#defined.set(name, this.#nodes(tokens));
    if (tokens.shift()?.action !== 'end') throw new Error(`${name} does not end`);
  }

  #branches(pipe: string, tokens: { action?: string }[]): Branch[] {
    const branches: Branch[] = [{ pipe, nodes: this.#nodes(tokens) }];
    for (;;) {
      const { action = '' } = tokens.shift() ?? {};
      if (action === 'end') return branches;
      const [, next] = /^else(?:\s+if\s+(.*))?$/s.exec(action)!;
      branches.push({ pipe: next ?? null, nodes: this.#nodes(tokens) });
    }
  }

  render(nodes: readonly Node[], scope: Scope): string {
    return nodes.map(node => this.#one(node, scope)).join('');
  }

  #one(node: Node, scope: Scope): string {
    if (node.kind === 'text') return node.text;
    if (node.kind === 'value') return String(this.#pipe(node.pipe, scope) ?? '');
    for (const { pipe, nodes } of node.branches) {
      const value = pipe === null ? true : this.#pipe(pipe, scope);
      if (isEmpty(value)) continue;
      if (node.word === 'if' || pipe === null) return this.render(nodes, scope);
      const dots = node.word === 'range' ? (value as Value[]) : [value];
      return dots.map(dot => this.render(nodes, { ...scope, dot })).join('');
    }
    return '';
  }

  #pipe(pipe: string, scope: Scope): Value {
    const [first, ...rest] = splitAt(pipe, '|');
    return rest.reduce((value, call) => this.#call(call, scope, [value]), this.#call(first!, scope, []));
  }

  #call(call: string, scope: Scope, piped: readonly Value[]): Value {
    const [name = '', ...args] = splitAt(call, ' ');
    if (!/^[a-zA-Z]+$/.test(name)) return this.#operand(name, scope);
    const given = [...args.map(arg => this.#operand(arg, scope)), ...piped];
    if (name === 'include') {
      const dot = given[1];
      return this.render(this.#defined.get(String(given[0]))!, { dot, root: scope.root });
    }
    const apply = functions[name];
    if (apply === undefined) throw new Error(`the chart uses ${name}, which is outside of what we keep to`);
    return apply(...given);
  }

  #operand(text: string, scope: Scope): Value {
    if (text.startsWith('(')) return this.#pipe(text.slice(1, -1), scope);
    if (/^["\d]/.test(text)) return JSON.parse(text);
    const [start, ...path] = text.split('.');
    if (start !== '' && start !== '$')
      throw new Error(`the chart uses ${text}, which is outside of what we keep to`);
    const from = start === '$' ? scope.root : scope.dot;
    return path
      .filter(Boolean)
      .reduce<Value>((value, name) => (value as Record<string, Value>)?.[name], from);
  }
}

// biome-ignore lint/suspicious/noExplicitAny: templates have no types
const functions: Readonly<Record<string, (...args: any[]) => Value>> = {
  and: (...all) => all.find(isEmpty) ?? all.at(-1),
  default: (fallback, value) => (isEmpty(value) ? fallback : value),
  dict: (...pairs) =>
    Object.fromEntries(pairs.flatMap((name, at) => (at % 2 === 0 ? [[name, pairs[at + 1]]] : []))),
  gt: (one, other) => one > other,
  join: (separator, list) => list.join(separator),
  nindent: (width, text) => `\n${String(text).replaceAll(/^/gm, ' '.repeat(width))}`,
  quote: value => JSON.stringify(String(value)),
  int: value => Math.trunc(Number(value)),
  required: (message, value) => {
    if (value === undefined || value === null || value === '') throw new Error(message);
    return value;
  },
  toYaml: value => stringify(value).trimEnd(),
};

/** At a separator that stands in no quotes and no parentheses. */
function splitAt(text: string, separator: '|' | ' '): string[] {
  const parts = [''];
  let depth = 0;
  for (const piece of text.match(/"(?:[^"\\]|\\.)*"|[\s\S]/g) ?? []) {
    if (piece === '(') depth++;
    if (piece === ')') depth--;
    if (depth === 0 && (piece === separator || (separator === ' ' && /^\s$/.test(piece)))) parts.push('');
    else parts[parts.length - 1] += piece;
  }
  return parts.map(part => part.trim()).filter(part => part !== '');
}
