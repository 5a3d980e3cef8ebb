package fleet

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Words lists the words of a closed vocabulary, such as AgentState; nil for a type that
// is none.
func Words(t reflect.Type) []string { return vocabularies()[t] }

func vocabularies() map[reflect.Type][]string {
	m := map[reflect.Type][]string{}
	for _, words := range []any{
		[]ActionStage{StagePlanned, StageStarted, StageEnded},
		[]AgentState{StateStarting, StateDialog, StateWorking, StateIdle, StateWaiting, StateRateLimited, StateAuthLost, StateContextHigh,
			StateStuck, StateLooping, StateZombie, StateCrashed, StateFinished, StateStopped, StateUnknown},
		[]AlertStatus{AlertPending, AlertFiring, AlertResolved},
		BudgetStages(),
		BudgetWindows(),
		[]ConvoyState{ConvoyOpen, ConvoyDone, ConvoyClosed},
		[]Delivery{DeliveryPending, DeliverySent, DeliveryAcknowledged, DeliveryUndelivered},
		[]DependencyState{DependencyWaits, DependencyResolved, DependencyDropped},
		[]Desired{DesiredRunning, DesiredStopped, DesiredPaused, DesiredDraining, DesiredRetired},
		[]GateState{GateOpen, GateClosed},
		[]GateType{GateTimer, GateEvent, GateCondition, GateRun, GatePull, GateHuman, GateMail},
		[]Guard{GuardInFlight, GuardFrozen, GuardMode, GuardForeign, GuardPaused, GuardPerson, GuardEvidence, GuardAlive, GuardState, GuardGrace, GuardCause, GuardCannot,
			GuardCooldown, GuardAttempts, GuardVerdict, GuardGate, GuardSpend, GuardBudget, GuardLease, GuardBlast, GuardApproval, GuardLimit},
		[]Holder{HolderAlive, HolderDead, HolderReused, HolderUnknown},
		[]Mode{ModeObserve, ModeAsk, ModeAuto},
		[]OrderState{OrderAsked, OrderOpen, OrderQueued, OrderDone, OrderRefused, OrderExpired},
		[]Outcome{OutcomeDelivered, OutcomeNot, OutcomeUnknown},
		[]Owner{OwnerCustos, OwnerAdopted, OwnerConfigured, OwnerForeign, OwnerUnknown},
		PartNames(),
		[]Priority{P0, P1, P2, P3, P4},
		[]ProcState{ProcNone, ProcRunning, ProcEnded, ProcFailed, ProcInDoubt, ProcUnknown},
		[]Proof{ProofTranscript, ProofHook, ProofScreen},
		[]Progress{ProgressSome, ProgressNone, ProgressUnknown},
		[]Restart{RestartAlways, RestartOnFailure, RestartNever},
		[]ResultStatus{ResultDone, ResultUnneeded, ResultRefused, ResultFailed, ResultUnverified, ResultInDoubt},
		[]RunMode{RunSteps, RunInTmux, RunHeadless},
		[]RunState{RunOpen, RunPerson, RunDone, RunFailed, RunSkipped, RunCancelled},
		SpendBys(),
		SpendMetrics(),
		[]Status{StatusOK, StatusStale, StatusPending, StatusUnknown, StatusAbsent},
		[]StepDo{StepRun, StepUses, StepProse},
		[]StepState{StepWaiting, StepReady, StepRunning, StepDone, StepFailed, StepSkipped, StepPerson},
		[]VerdictWord{VerdictRetry, VerdictExtend, VerdictInterrupt, VerdictRestart, VerdictStop, VerdictAsk},
		[]Where{WhereTmux, WhereHeadless},
		[]WorkState{WorkOpen, WorkTaken, WorkClosed},
	} {
		list := reflect.ValueOf(words)
		for i := range list.Len() {
			m[list.Type().Elem()] = append(m[list.Type().Elem()], list.Index(i).String())
		}
	}
	return m
}

// CheckWords says where a value holds a word that is none of its vocabulary, by the
// names of the fields in JSON: a word that is not known is no state that anything is judged by.
func CheckWords(v any) error {
	at := reflect.New(reflect.TypeOf(v)) // a leaf shows what it holds where it can be addressed
	at.Elem().Set(reflect.ValueOf(v))
	return checkWords(at, vocabularies(), nil)
}

func checkWords(v reflect.Value, known map[reflect.Type][]string, path []string) error {
	if !v.IsValid() {
		return nil
	}
	if v.CanAddr() {
		if leaf, ok := v.Addr().Interface().(interface{ Seen() any }); ok {
			return checkWords(reflect.ValueOf(leaf.Seen()), known, path)
		}
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return checkWords(v.Elem(), known, path)
	case reflect.Slice, reflect.Array:
		return checkList(v, known, path)
	case reflect.Struct:
		return checkFields(v, known, path)
	case reflect.String:
		return checkWord(v, known, path)
	}
	return nil
}

func checkList(v reflect.Value, known map[reflect.Type][]string, path []string) error {
	for i := range v.Len() {
		if err := checkWords(v.Index(i), known, append(path[:len(path):len(path)], fmt.Sprint(i))); err != nil {
			return err
		}
	}
	return nil
}

func checkFields(v reflect.Value, known map[reflect.Type][]string, path []string) error {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		below := path[:len(path):len(path)]
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			below = append(below, name)
		}
		if f.IsExported() {
			if err := checkWords(v.Field(i), known, below); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkWord lets no word be, too: the field was left out.
func checkWord(v reflect.Value, known map[reflect.Type][]string, path []string) error {
	words := known[v.Type()]
	if words == nil || v.String() == "" || slices.Contains(words, v.String()) {
		return nil
	}
	return fmt.Errorf("%s: %q is none of %s", strings.Join(path, "."), Line(v.String(), 60), strings.Join(words, ", "))
}
