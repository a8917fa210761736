#include "launch/cli/completion_scripts.hpp"

namespace tidegate::launch {

namespace {

constexpr std::string_view bash = R"script(# Completion of tidegate for bash.

_tidegate() {
  local rest=$COMP_LINE words=() word i
  # Readline cuts words at "=" and ":", too; what is not apart by a blank is one word.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if ((i > 0)) && [[ $rest != [[:blank:]]* ]]; then
      words[${#words[@]}-1]+=${word//\\/}
    else
      words+=("${word//\\/}")
    fi
    rest=${rest#"${rest%%[![:blank:]]*}"}
    rest=${rest#"$word"}
  done
  local cur=${words[${#words[@]}-1]} breaks='' prefix='' line
  [[ $COMP_WORDBREAKS == *=* ]] && breaks+='='
  [[ $COMP_WORDBREAKS == *:* ]] && breaks+=':'
  if [[ -n $breaks && $cur == *[$breaks]* ]]; then
    prefix=${cur%"${cur##*[$breaks]}"}
  fi
  local path=$cur
  [[ $cur == --*=* ]] && path=${cur#*=}
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :files | :folders)
        compopt -o filenames
        while IFS= read -r word; do
          COMPREPLY+=("$word")
        done < <(compgen "-$([[ $line == :files ]] && echo f || echo d)" -- "$path")
        ;;
      *)
        line=${line%%$'\t'*}
        printf -v word %q "${line#"$prefix"}"
        COMPREPLY+=("$word")
        ;;
    esac
  done < <("${COMP_WORDS[0]/#\~\//$HOME/}" complete -- "${words[@]:1}" 2>/dev/null)
  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[.=] ]]; then
    compopt -o nospace
  fi
}

complete -F _tidegate tidegate
)script";

constexpr std::string_view zsh = R"script(#compdef tidegate
# Completion of tidegate for zsh.

_tidegate() {
  local -a typed whole open
  local line name item also
  typed=("${(@Q)words[2,CURRENT]}")
  typed[-1]=${(Q)PREFIX}
  for line in "${(@f)$("${${(Q)words[1]}/#\~\//$HOME/}" complete -- "${typed[@]}" 2>/dev/null)}"; do
    case $line in
      '') ;;
      :files | :folders) also=$line ;;
      *)
        name=${line%%$'\t'*}
        item=${name//:/\\:}
        [[ $line == *$'\t'* ]] && item+=:${line#*$'\t'}
        if [[ $name == *[.=] ]]; then open+=("$item"); else whole+=("$item"); fi
        ;;
    esac
  done
  local found=1
  (( ${#whole} )) && _describe tidegate whole && found=0
  (( ${#open} )) && _describe tidegate open -S '' && found=0
  if [[ -n $also ]]; then
    [[ $PREFIX == --*=* ]] && compset -P '--*='
    if [[ $also == :folders ]]; then _files -/ && found=0; else _files && found=0; fi
  fi
  return found
}

if [[ ${funcstack[1]} == _tidegate ]]; then
  _tidegate "$@"
else
  compdef _tidegate tidegate
fi
)script";

constexpr std::string_view fish = R"script(# Completion of tidegate for fish.

function __tidegate_complete
    set -l typed (commandline -opc)
    set -l token (commandline -ct)
    set -l program (string replace -r '^~/' "$HOME/" -- $typed[1])
    set -l flag (string match -r -- '^--[^=]*=' $token)
    set -l path (string replace -r -- '^--[^=]*=' '' $token)
    for line in ($program complete -- $typed[2..-1] "$token" 2>/dev/null)
        switch $line
            case :files
                for each in (__fish_complete_path "$path")
                    echo "$flag$each"
                end
            case :folders
                for each in (__fish_complete_directories "$path")
                    echo "$flag$each"
                end
            case '*'
                echo $line
        end
    end
end

complete -c tidegate -f -a '(__tidegate_complete)'
)script";

}  // namespace

std::string_view completion_script(std::string_view shell) {
  if (shell == "bash") return bash;
  if (shell == "zsh") return zsh;
  if (shell == "fish") return fish;
  return {};
}

}  // namespace tidegate::launch
