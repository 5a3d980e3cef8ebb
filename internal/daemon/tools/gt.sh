verb="${1-} ${2-}"
case $verb in
"mail inbox") custos mail inbox ;;
"mail read") custos mail read -- "${3-}" ;;
"mail send")
	to=${3-}; shift 3 2>/dev/null || no "mail send without an address"
	subject= body=
	while [ $# -gt 0 ]; do case $1 in
		-s|--subject) subject=${2-}; [ $# -gt 1 ] && shift ;;
		-m|--message|--body) body=${2-}; [ $# -gt 1 ] && shift ;;
	esac; shift; done
	case $to in mayor/|mayor|overseer|--human) to=overseer ;; */*) to=${to##*/} ;; esac
	custos mail send ${body:+--body "$body"} -- "$to" "${subject:-(no subject)}" ;;
"daemon status") custos status ;;
"deacon pending") custos ps --pending ;;
"polecats --all") custos ps ;;
esac
case ${1-} in
nudge) to=${2-}; shift 2 2>/dev/null || no "nudge without a name"; custos nudge -- "${to##*/}" "$*" ;;
feed) case ${2-} in --since) custos feed --since "${3-}" ;; --since=*) custos feed "$2" ;; esac; custos feed ;;
doctor) case " $* " in *" --fix "*) hint=": a person mends with custos doctor --fix, a patrol by its rules"; no "$*" ;; esac; custos doctor ;;
status) custos status ;;
handoff) hint=": write what must not be lost to a file, then custos handoff --file FILE"; no "$*" ;;
witness|refinery) hint=": custos ps shows the agents, and restarts them by its rules" ;;
context) hint=": custos ps shows how full an agent's context is" ;;
esac
no "$*"
