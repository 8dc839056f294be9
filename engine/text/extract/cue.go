package extract

import "strings"

// cues is the set of what makes a sentence worth more or less than its terms.
type cues uint8

const (
	cueDecision cues = 1 << iota
	cuePromise
	cueError
	cueCode // an identifier, path or address
	cueNumber
	cueNot
	cueQuestion
	cueOpen // a question that nobody answered
)

// What multiplies the worth of a sentence: bonuses add up, factors come on top. Those that matter in talk (tells, few terms) were tuned
// on long dialogues, by the share of the words of answers to questions about them that is left in a summary of an eighth.
const (
	decisionBonus  = 0.3
	promiseBonus   = 0.2
	errorBonus     = 0.3
	codeBonus      = 0.2
	numberBonus    = 0.2
	openBonus      = 0.5
	questionFactor = 0.5
	tellsBonus     = 2.0 // of what Tells gives
	headingFactor  = 0.7
	markupFactor   = 0.4
	fewTerms       = 3 // with fewer, a sentence is worth as much less
)

// factor returns what the cues multiply the worth of a sentence by.
func (c cues) factor() float64 {
	f := 1.0
	for _, b := range [...]struct {
		cue   cues
		bonus float64
	}{
		{cueDecision, decisionBonus}, {cuePromise, promiseBonus}, {cueError, errorBonus}, {cueCode, codeBonus}, {cueNumber, numberBonus},
		{cueOpen, openBonus},
	} {
		if c&b.cue != 0 {
			f += b.bonus
		}
	}
	if c&cueQuestion != 0 && c&cueOpen == 0 {
		f *= questionFactor
	}
	return f
}

// cueOf returns the cues that a surface is.
func cueOf(surface string) cues {
	c := cueWords[surface]
	if '0' <= surface[0] && surface[0] <= '9' {
		c |= cueNumber
	}
	return c
}

// cueWords has the words of decisions, promises and failures in a few languages, as surfaces. Those of scripts without spaces are pairs.
var cueWords = func() map[string]cues {
	words := map[string]cues{}
	for cue, list := range map[cues]string{
		cueNot: `not no never none nobody nothing neither nor without cannot cant dont doesnt didnt isnt arent wasnt werent wont wouldnt couldnt
			shouldnt hasnt havent hadnt
			nicht kein keine keinen keinem keiner keines nie niemals niemand nichts ohne
			no nunca nadie nada sin tampoco pas jamais aucun aucune rien sans non nao nunca nem sem mai nessuno niente senza`,
		cueDecision: `decided decides decision decisions agreed approved rejected chose chosen settled concluded confirmed switched preferred
			resolved instead final merged released shipped deployed accepted
			entschieden entscheidung beschlossen vereinbart gewahlt bestatigt genehmigt abgelehnt stattdessen
			decidimos decidido acordado elegido aprobado confirmado decidee decidons choisi valide retenu
			决定 決定 同意 选择 選擇 批准 确认 確認 合意 採用 결정 합의`,
		cuePromise: `todo fixme must should need needs needed deadline due promise promised plan plans planned planning pending blocked blocker
			remaining remind reminder
			muss mussen soll sollen sollte frist aufgabe versprochen geplant ausstehend blockiert
			debe debemos pendiente plazo doit devons faut prevu echeance
			需要 必须 必須 待办 待辦 计划 計劃 截止 予定 期限 필요 예정 기한`,
		cueError: `error errors failed fails failing failure failures exception panic panicked bug bugs broken crash crashed crashes timeout denied
			refused invalid missing regression corrupt corrupted
			fehler fehlgeschlagen absturz abgesturzt kaputt erreur echec panne fallo
			错误 錯誤 失败 失敗 异常 崩溃 障害 오류 실패`,
	} {
		for _, word := range strings.Fields(list) {
			words[word] |= cue
		}
	}
	return words
}()
