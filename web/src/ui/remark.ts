/**
 * Reports syntax errors in JSON and YAML; empty if there are none, or for other text. The parsers' own messages may
 * repeat part of the value, so only the position is reported.
 */
import { useEffect, useState } from 'react';

export function useRemark(text: string, contentType: string): string {
  const isYaml = formOf(text, contentType) === 'yaml';
  const [found, setFound] = useState({ text: '', remark: '' });
  useEffect(() => {
    if (!isYaml) return;
    let isCurrent = true;
    void remarkOnYaml(text).then(remark => isCurrent && setFound({ text, remark }));
    return () => {
      isCurrent = false;
    };
  }, [isYaml, text]);
  if (isYaml) return found.text === text ? found.remark : '';
  return formOf(text, contentType) === 'json' ? remarkOnJson(text.trim()) : '';
}

function formOf(text: string, contentType: string): 'json' | 'yaml' | 'other' {
  const trimmed = text.trim();
  if (trimmed === '') return 'other';
  if (/ya?ml/i.test(contentType)) return 'yaml';
  return /json/i.test(contentType) || /^[[{]/.test(trimmed) ? 'json' : 'other';
}

function remarkOnJson(text: string): string {
  try {
    JSON.parse(text);
    return '';
  } catch (error) {
    const place = /line (\d+) column (\d+)/.exec((error as Error).message);
    return place ? `Not valid JSON, at line ${place[1]}, column ${place[2]}.` : 'Not valid JSON.';
  }
}

/** The parser is loaded when it is first needed. */
async function remarkOnYaml(text: string): Promise<string> {
  const { parseAllDocuments } = await import('yaml');
  const documents = parseAllDocuments(text, { prettyErrors: true });
  const [error] = Array.isArray(documents) ? documents.flatMap(({ errors }) => errors) : [];
  if (error === undefined) return '';
  const place = error.linePos?.[0];
  return place ? `Not valid YAML, at line ${place.line}, column ${place.col}.` : 'Not valid YAML.';
}
