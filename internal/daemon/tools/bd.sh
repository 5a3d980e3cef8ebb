why() { reason= json=; while [ $# -gt 0 ]; do case $1 in --reason=*) reason=${1#*=} ;; --reason) reason=${2-}; [ $# -gt 1 ] && shift ;; --json) json=--json ;; esac; shift; done; }
verb=${1-}; [ $# -gt 0 ] && shift
case $verb in
list) case " $* " in *"type=convoy"*|*"type convoy"*) of=convoy ;; *) of=work ;; esac
	case " $* " in *" --json "*) custos $of list --json ;; esac
	custos $of list ;;
show|close) id=${1-}; [ $# -gt 0 ] && shift
	case $id in c[0-9]*) of=convoy ;; ''|-*) no "$verb without an ID" ;; *) of=work ;; esac
	why "$@"
	[ "$verb" = close ] && custos $of close $json ${reason:+--why "$reason"} -- "$id"
	custos $of show $json -- "$id" ;;
gate) sub=${1-}; [ $# -gt 0 ] && shift
	case $sub in
	list) why "$@"; custos gate list $json ;;
	show|close) id=${1-}; [ $# -gt 0 ] && shift; why "$@"
		[ "$sub" = close ] && custos gate close $json ${reason:+--why "$reason"} -- "$id"
		custos gate show $json -- "$id" ;;
	esac ;;
ready) custos work list ;;
esac
hint=": it has list, show ID, close ID --reason WHY, ready, gate list|show|close (custos work, convoy and gate)"
no "$verb $*"
