/** `strongroom completion`: prints a script with which a shell completes commands, flags, vaults and secrets. */
import { UsageError } from '../../service/settings/report.ts';
import { commandOf } from '../terminal/command.ts';

/** Each script calls `strongroom complete` with the words so far; `:files` leaves the completion to the shell. */
const scripts: Readonly<Record<string, string>> = {
  bash: `_strongroom() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      compopt -o default
    else
      COMPREPLY+=("$(printf '%q' "$line")")
    fi
  done < <(strongroom complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _strongroom strongroom
`,
  zsh: `#compdef strongroom
_strongroom() {
  local -a found
  found=("\${(@f)$(strongroom complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ \${found[1]} == ':files' ]]; then
    _files
  elif [[ -n \${found[1]} ]]; then
    compadd -- "\${found[@]}"
  fi
}
compdef _strongroom strongroom
`,
  fish: `function __strongroom_complete
  set -l words (commandline -opc) (commandline -ct)
  for line in (strongroom complete -- $words[2..-1] 2>/dev/null)
    if test "$line" = ':files'
      __fish_complete_path (commandline -ct)
    else
      echo $line
    end
  end
end
complete -c strongroom -f -a '(__strongroom_complete)'
`,
};

export const command = commandOf({
  usage: 'completion bash|zsh|fish',
  summary: 'print a script that completes commands in a shell',
  completes: Object.keys(scripts),
  options: {},
  about:
    'Prints a completion script. bash: eval "$(strongroom completion bash)" in ~/.bashrc. zsh: the same in ~/.zshrc, after\ncompinit. fish: strongroom completion fish > ~/.config/fish/completions/strongroom.fish.',
  upTo: 1,
  run: async (_, shell) => {
    if (!Object.hasOwn(scripts, shell)) throw new UsageError('a shell is required: bash, zsh or fish');
    process.stdout.write(scripts[shell]!);
  },
});
