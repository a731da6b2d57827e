/**
 * Text in Markdown, built from elements. HTML in it is shown as text, pictures as their descriptions, and links lead only
 * to websites. What is nested too deeply, or is not supported, is shown as it was written.
 */
import { lexer, type Token, type Tokens } from 'marked';
import type { ReactNode } from 'react';

const deepest = 10;

export default function Markdown({ text }: { text: string }) {
  return (
    <div className="flex flex-col gap-2 text-sm break-words [&_ol]:list-decimal [&_ol]:pl-5 [&_ul]:list-disc [&_ul]:pl-5">
      {shown(tokensOf(text), 0)}
    </div>
  );
}

function tokensOf(text: string): Token[] {
  try {
    return lexer(text);
  } catch {
    return [{ type: 'paragraph', raw: text, text, tokens: [{ type: 'text', raw: text, text }] }];
  }
}

function shown(tokens: readonly Token[], depth: number): ReactNode {
  // biome-ignore lint/suspicious/noArrayIndexKey: the tokens of a text never move.
  return tokens.map((token, at) => <Part key={at} token={token} depth={depth} />);
}

function Part({ token, depth }: { token: Token; depth: number }): ReactNode {
  const build = Object.hasOwn(elements, token.type) ? elements[token.type] : undefined;
  if (build === undefined || depth > deepest) return <Plain text={token.raw} />;
  const { tokens } = token as { tokens?: Token[] };
  return build(token as never, tokens === undefined ? token.raw : shown(tokens, depth + 1), depth);
}

function Plain({ text }: { text: string }) {
  return <span className="whitespace-pre-wrap">{text.replace(/\n+$/, '')}</span>;
}

type Build<T> = (token: T, inner: ReactNode, depth: number) => ReactNode;

const elements: Readonly<Record<string, Build<never>>> = {
  space: () => null,
  def: ({ raw }: Tokens.Def) => <Plain text={raw} />,
  paragraph: (_, inner) => <p className="whitespace-pre-line">{inner}</p>,
  heading: (_, inner) => <p className="font-semibold">{inner}</p>,
  blockquote: (_, inner) => (
    <blockquote className="border-line text-muted border-l-2 pl-3">{inner}</blockquote>
  ),
  code: ({ text }: Tokens.Code) => (
    <pre className="overflow-x-auto font-mono text-xs">
      <code>{text}</code>
    </pre>
  ),
  hr: () => <hr className="border-line" />,
  br: () => <br />,
  text: ({ raw, tokens }: Tokens.Text, inner) => (tokens === undefined ? raw : inner),
  escape: ({ text }: Tokens.Escape) => text,
  strong: (_, inner) => <strong className="font-semibold">{inner}</strong>,
  em: (_, inner) => <em>{inner}</em>,
  del: (_, inner) => <del>{inner}</del>,
  codespan: ({ text }: Tokens.Codespan) => <code className="font-mono text-xs">{text}</code>,
  list: ({ ordered, start, items }: Tokens.List, _, depth) => {
    // biome-ignore lint/suspicious/noArrayIndexKey: the items of a text never move.
    const inside = items.map((item, at) => <li key={at}>{shown(item.tokens, depth + 1)}</li>);
    return ordered ? <ol start={start || 1}>{inside}</ol> : <ul>{inside}</ul>;
  },
  link: ({ href, raw }: Tokens.Link, inner) => {
    if (!/^https?:\/\//i.test(href)) return raw;
    return (
      <a
        className="text-accent-strong underline underline-offset-4"
        href={href}
        title={href}
        target="_blank"
        rel="noopener noreferrer"
      >
        {inner}
      </a>
    );
  },
};
