/**
 * Encodes rows as text without loss. Used to send rows to the writer thread, where passing values one by one costs more
 * than storing them, and in backups, where the text is the same for both engines.
 */
import type { SQLInputValue } from 'node:sqlite';

/** Bytes, where only texts, numbers and nulls are possible. */
interface BytesText {
  readonly base64: string;
}

type RowValue = string | number | null | Uint8Array;
type ValueText = string | number | null | BytesText;
type Row = readonly unknown[];

export function rowText(row: Row): string {
  return JSON.stringify(row.map(valueText));
}

/** Throws if the text is not a row. */
export function rowOf(text: string): RowValue[] {
  const row: unknown = JSON.parse(text);
  if (!Array.isArray(row) || !row.every(isValueText)) throw new TypeError('not a row');
  return row.map(valueIn);
}

export function rowsText(rows: readonly Row[]): string {
  return JSON.stringify(rows.map(row => row.map(valueText)));
}

export function rowsOf(text: string): SQLInputValue[][] {
  const rows = JSON.parse(text) as ValueText[][];
  return rows.map(row => row.map(valueIn));
}

function isValueText(value: unknown): value is ValueText {
  if (value === null || typeof value === 'string' || Number.isSafeInteger(value)) return true;
  return typeof value === 'object' && typeof (value as Partial<BytesText>).base64 === 'string';
}

function valueIn(value: ValueText): RowValue {
  return typeof value === 'object' && value !== null ? Buffer.from(value.base64, 'base64') : value;
}

function valueText(value: unknown): unknown {
  if (!(value instanceof Uint8Array)) return value;
  const { buffer, byteOffset, byteLength } = value;
  return { base64: Buffer.from(buffer, byteOffset, byteLength).toString('base64') } satisfies BytesText;
}
