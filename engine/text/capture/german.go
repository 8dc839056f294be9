package capture

// germanTrades are what somebody may say that they are, women as well.
const germanTrades = `(?:ingenieur|entwickler|programmierer|designer|lehrer|professor|krankenpfleger|krankenschwester|ärzt|arzt|zahnärzt|zahnarzt|chirurg|anwält|anwalt|student|` +
	`wissenschaftler|forscher|autor|journalist|künstler|maler|musiker|sänger|koch|köch|bäcker|manager|berater|buchhalter|architekt|analyst|schreiner|tischler|elektriker|mechaniker|` +
	`landwirt|pilot|fahrer|fotograf|therapeut|psycholog|übersetzer|bibliothekar|gründer|administrator|techniker|verkäufer|physiker|chemiker|biolog|mathematiker|rentner|gärtner|pfleger|erzieher)(?:e|in|ist)?`

// german are the rules of German.
var german = []said{
	{name: "favourite", category: "preference", words: "mein meine", topic: "favorite *", sure: 0.9,
		pattern: `\bmeine? (?:absolute[rs]? )?lieblings-?(?P<topic>\pL[\pL-]{1,40}?) (?:ist|sind|heißt|war schon immer) (?P<value>.+)`},
	{name: "uses as", category: "preference", words: "nutze benutze verwende nehme", topic: "*", sure: 0.85,
		pattern: `\bich (?:nutze|benutze|verwende|nehme) (?:jetzt |immer |meistens |inzwischen )?(?P<value>[^,.;]{1,60}?) als (?:meinen? |haupt)?(?P<topic>\pL[\pL -]{1,40})`},
	{name: "switched from", category: "preference", words: "umgestiegen gewechselt gewechselt", corrects: true, sure: 0.85,
		pattern: `\bich bin (?:\pL+ )?von (?P<old>[^,.;]{1,60}?) (?:auf|zu) (?P<value>[^,.;]{1,60}?) (?:umgestiegen|gewechselt)`},
	{name: "instead", category: "preference", words: "statt anstatt", corrects: true, sure: 0.75,
		pattern: `\bich (?:nutze|benutze|verwende|nehme|trinke|esse|kaufe) (?:jetzt |nun |inzwischen )?(?:lieber )?(?P<value>[^,.;]{1,60}?) (?:an)?statt (?P<old>[^,.;]{1,60})`},
	{name: "no longer", category: "preference", words: "mehr", negative: true, corrects: true, sure: 0.8,
		pattern: `\bich (?P<value>(?:mag|nutze|benutze|verwende|trinke|esse|will|möchte|brauche|rauche|spiele|lese|arbeite|wohne|lebe) (?:[^,.;]{0,60} )?(?:nicht|keine?n?) (?:[^,.;]{0,40} )?mehr)\b`,
		not:     `\bmehr als\b`},
	{name: "prefers for", category: "preference", words: "bevorzuge", topic: "*", sure: 0.85,
		pattern: `\bich bevorzuge (?P<value>[^,.;]{1,60}?) für (?P<topic>\pL[\pL -]{1,40})`},
	{name: "prefers", category: "preference", words: "bevorzuge lieber liebsten", sure: 0.8,
		pattern: `\bich bevorzuge \pL|\bich (?:mag|trinke|esse|nehme|hätte|habe|arbeite|nutze|benutze|lese|schreibe|fahre) (?:[^,.;?]{0,40} )?lieber\b|\bmir (?:ist|sind|wäre) (?:[^,.;?]{1,60} )?lieber\b|\bam liebsten (?:mag|trinke|esse|nehme|nutze|benutze|lese|fahre|arbeite|habe|hätte) ich\b`},
	{name: "dislikes", category: "preference", words: "hasse mag", negative: true, sure: 0.75,
		pattern: `\bich (?:hasse (?P<value>\pL.*)|mag (?:[^,.;]{0,40}?)(?:keine?n? \pL|(?:überhaupt |gar )?nicht\b))`,
		not:     `\bmag (?:das|es|dich) nicht\b|\bmehr\b`},
	{name: "likes", category: "preference", words: "mag liebe gern gerne", sure: 0.65,
		pattern: `\bich (?:mag|liebe) (?P<value>\pL.*)|\bich (?:trinke|esse|lese|höre|spiele|fahre|koche|reise|arbeite) (?:[^,.;]{0,40} )?gerne?\b`,
		not:     `\b(?:mag|liebe) (?:es|das|dich|dein|deine)\b|\bnicht\b|\bkeine?n?\b`},

	{name: "is called", category: "profile", words: "heiße name nenn nennt nennen", topic: "name", sure: 0.9,
		pattern: `\b(?:ich heiße|mein name ist|nennt? mich|nennen sie mich) (?-i:(?P<value>\p{Lu}[\pL'-]+(?: \p{Lu}[\pL'-]+){0,2}))`},
	{name: "lives in", category: "profile", words: "wohne lebe gezogen umgezogen", topic: "home", sure: 0.85,
		pattern: `\bich (?:wohne|lebe) (?:\pL+ ){0,2}?in (?-i:(?P<value>\p{Lu}[\pL-]+(?: (?:am )?\p{Lu}[\pL-]+){0,2}))`},
	{name: "moved to", category: "profile", words: "gezogen umgezogen", topic: "home", sure: 0.85,
		pattern: `\bich bin (?:\pL+ ){0,3}?nach (?-i:(?P<value>\p{Lu}[\pL-]+(?: \p{Lu}[\pL-]+){0,2})) (?:um)?gezogen\b`},
	{name: "comes from", category: "profile", words: "komme stamme", topic: "origin", sure: 0.8,
		pattern: `\bich (?:komme|stamme) (?:ursprünglich )?aus (?:der |dem )?(?-i:(?P<value>\p{Lu}[\pL-]+(?: \p{Lu}[\pL-]+){0,2}))`,
		not:     `\bkomme aus (?:der|dem) (?:arbeit|schule|bett|büro)`},
	{name: "works as", category: "profile", words: "arbeite", topic: "occupation", sure: 0.85,
		pattern: `\bich arbeite (?:\pL+ ){0,2}?als (?P<value>\pL[^,.;]{1,60})`},
	{name: "works at", category: "profile", words: "arbeite", topic: "employer", sure: 0.8,
		pattern: `\bich arbeite (?:\pL+ ){0,2}?(?:bei|für) (?:der |dem |die |den )?(?-i:(?P<value>\p{Lu}[\pL\pN&-]*(?: \p{Lu}[\pL\pN&-]*){0,3}))`},
	{name: "is a", category: "profile", words: "bin", topic: "occupation", sure: 0.8,
		pattern: `\bich bin (?:von beruf |gelernte[r]? |selbständige[r]? |freie[r]? )?(?:eine? )?(?P<value>[\pL-]*` + germanTrades + `)\b`},
	{name: "eats no", category: "profile", words: "vegetarier vegetarierin vegan veganer veganerin vegetarisch", topic: "diet", sure: 0.85,
		pattern: `\bich (?:bin|ernähre mich|esse|lebe) (?:\pL+ ){0,2}?(?P<value>vegetarier(?:in)?|veganer(?:in)?|vegan|vegetarisch)\b`},
	{name: "is allergic", category: "profile", words: "allergisch habe vertrage", sure: 0.9,
		pattern: `\bich (?:bin|reagiere) (?:\pL+ ){0,2}?allergisch (?:gegen|auf) (?P<value>\pL.*)|\bich habe eine [\pL-]*allergie\b|\bich vertrage keine?n? (?:\pL+)`},
	{name: "is of age", category: "profile", words: "jahre", topic: "age", sure: 0.85, pattern: `\bich bin (?P<value>\d{1,3}) jahre(?: alt)?\b`},
	{name: "was born", category: "profile", words: "geburtstag geboren", topic: "birthday", sure: 0.85,
		pattern: `\b(?:mein geburtstag ist(?: am)?|ich habe am|ich bin am|ich wurde am) (?P<value>\d[^,;!]{2,30}?)(?: geburtstag| geboren|[.!]?$)`},
	{name: "speaks", category: "profile", words: "spreche", sure: 0.75, pattern: `\bich spreche (?:\pL+ )?(?-i:(?P<value>\p{Lu}\pL+.*))`},

	{name: "has a", category: "entity", words: "heißt", topic: "*", sure: 0.85,
		pattern: `\bmeine? (?P<topic>(?:große[rs]? |kleine[rs]? |beste[rs]? |neue[rs]? )?(?:frau|mann|partner(?:in)?|freund(?:in)?|sohn|tochter|bruder|schwester|mutter|vater|chef(?:in)?|kolleg(?:e|in)|hund|katze|kater|pferd|firma|team|band|boot|auto|projekt)) heißt (?-i:(?P<value>\p{Lu}[\pL'-]+(?: \p{Lu}[\pL'-]+){0,2}))`},
	{name: "contact", category: "entity", words: "mail email e adresse telefonnummer handynummer nummer telefon handy anschrift mailadresse emailadresse", topic: "*", sure: 0.9,
		pattern: `\b(?:meine?|unsere?) (?:neue |private |aktuelle )?(?P<topic>e-?mail(?:-?adresse)?|mailadresse|telefonnummer|telefon|handynummer|handy|nummer|adresse|anschrift) (?:ist|lautet|hat sich geändert auf)(?: jetzt| nun)?:? (?P<value>\S.{2,100})`},
	{name: "thing is", category: "entity", words: "projekt server datenbank firma team büro domain budget drucker", topic: "*", sure: 0.65,
		pattern: `\b(?:unser|unsere|mein|meine|der|die|das) (?P<topic>projekt|server|datenbank|firma|team|büro|domain|budget|drucker) (?:läuft (?:auf|unter)|heißt|liegt (?:auf|in|bei|unter)|steht in|nutzt|verwendet|beträgt|ist (?:in|auf|unter)) (?P<value>\S.{1,80})`},

	{name: "decided", category: "event", words: "entschieden beschlossen geeinigt vereinbart entschlossen", sure: 0.8,
		pattern: `\b(?:wir haben|ich habe|wir sind|das team hat|haben wir|habe ich)\b.{0,80}?\b(?:entschieden|beschlossen|geeinigt|vereinbart|entschlossen)\b`,
		not:     `\b(?:noch )?nicht (?:entschieden|beschlossen)\b|\bnoch nicht\b`},
	{name: "due", category: "event", words: "deadline frist abgabe abgabetermin stichtag fällig", sure: 0.85,
		pattern: `\b(?:deadline|frist|abgabe|abgabetermin|stichtag)\b.*\b(?:ist|läuft|endet|bis|am|um)\b.*(?:\d|` + germanDays + `)|\bist (?:am|bis) .*(?:\d|` + germanDays + `).* fällig`},
	{name: "must by", category: "event", words: "muss müssen", sure: 0.75,
		pattern: `\b(?:muss|müssen)\b.*\bbis (?:zum |ende )?(?:\d|` + germanDays + `)|\bbis (?:zum |ende )?(?:\d|` + germanDays + `).*\b(?:muss|müssen)\b`},
	{name: "is on", category: "event", words: "termin treffen besprechung flug prüfung hochzeit operation vorstellungsgespräch urlaub reise konferenz", sure: 0.75,
		pattern: `\b(?:mein|meine|unser|unsere|der|die|das) (?:\pL+ ){0,2}?(?:termin|treffen|besprechung|flug|prüfung|hochzeit|operation|vorstellungsgespräch|urlaub|reise|konferenz) (?:ist|findet|beginnt|startet|geht|wurde)\b.*(?:\d|` + germanDays + `)`},

	{name: "happened", category: "event", words: "gestern heute vorgestern letzte letzten letztes letzter vor kürzlich neulich", sure: 0.6,
		pattern: `\b(?:gestern|vorgestern|letzte[nrs]? (?:woche|monat|jahr|wochenende|sommer|winter|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)|kürzlich|neulich|vor (?:\pL+ ){1,2}(?:tagen|wochen|monaten|jahren))\b.*\b(?:habe|haben|bin|sind|war|waren) (?:ich|wir)\b|\b(?:ich|wir) (?:habe|haben|bin|sind|war|waren) (?:gestern|vorgestern|heute|kürzlich|neulich|letzte[nrs]? \pL+|vor \pL+ \pL+)\b`},

	{name: "fix", category: "case", words: "behoben gelöst lösung abhilfe half geholfen", sure: 0.75,
		pattern: `\b(?:behoben|gelöst)\b.{0,40}?\b(?:indem|durch|mit)\b|\b(?:durch|mit|indem)\b.{1,80}\b(?:behoben|gelöst)\b|\bdie lösung (?:ist|war) |\babhilfe (?:schafft|schaffte)\b|\bgeholfen hat \pL`,
		not:     `\bnicht (?:behoben|gelöst)\b`},
	{name: "cause", category: "case", words: "ursache lag grund", sure: 0.7,
		pattern: `\bdie ursache (?:ist|war) |\b(?:problem|fehler) lag (?:an|am|im|in|bei) |\bgrund (?:dafür )?war `},
	{name: "routine", category: "pattern", words: "jedes immer vor nach", sure: 0.7,
		pattern: `\b(?:jedes mal,? wenn|immer,? wenn) (?:ich|wir|der|die|das|jemand)\b|\b(?:vor|nach) jede[mr] \pL+ (?:\pL+ )?(?:ich|wir) `},
	{name: "habit", category: "pattern", words: "immer nie meistens jeden", sure: 0.65,
		pattern: `\bich (?:beginne|starte|prüfe|mache|lese|schreibe|trinke|esse|gehe|teste|stehe|laufe|jogge|arbeite) (?:[^,.;]{0,40} )?(?:immer|nie|meistens|jeden (?:morgen|abend|tag|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag))\b`},
}

// germanDays are words that name a day.
const germanDays = `heute|morgen|übermorgen|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|januar|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember|woche|monat|jahr`
