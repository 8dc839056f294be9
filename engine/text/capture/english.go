package capture

// adverbs may stand between who speaks and what they say.
const adverbs = `(?:(?:also|always|really|usually|generally|strongly|definitely|much|actually|absolutely|still|now|currently|recently|just|finally|personally|mostly|typically|normally|totally|truly) )*`

// doings are what somebody may have given up.
const doings = `like|love|enjoy|prefer|use|drink|eat|want|work|live|smoke|need|take|wear|play|watch|read`

// deeds are what somebody may tell of having done.
const deeds = `(?:went|visited|started|finished|began|joined|signed up|bought|sold|adopted|won|lost|graduated|passed|failed|quit|left|applied|attended|met|took|made|painted|built|created|launched|opened|published|celebrated|moved|married|got (?:married|engaged|promoted|hired|fired|a|an|my|our|the|into|some)|had (?:a|an|my|our|the)|ran|hiked|camped|traveled|travelled|flew|drove|hosted|organized|organised|donated|volunteered|performed|recorded|learned|learnt|completed|received|enrolled|planted|cooked|baked|wrote|gave|saw|played|tried|registered|set up)`

// trades are what somebody may say that they are.
const trades = `(?:engineer|developer|programmer|designer|teacher|professor|lecturer|nurse|doctor|physician|surgeon|dentist|pharmacist|veterinarian|lawyer|attorney|student|scientist|` +
	`researcher|writer|author|journalist|editor|artist|painter|musician|singer|chef|cook|baker|manager|consultant|accountant|architect|analyst|carpenter|electrician|plumber|mechanic|` +
	`farmer|pilot|driver|photographer|therapist|psychologist|counselor|counsellor|translator|librarian|freelancer|founder|administrator|technician|salesperson|firefighter|paramedic|` +
	`physicist|chemist|biologist|mathematician|statistician|economist|social worker|retiree|entrepreneur|contractor|barista|coach|dancer|actor|actress|gardener)`

// english are the rules of English, those that say most first.
var english = []said{
	// What one likes and how one wants things.
	{name: "favourite", category: "preference", words: "favorite favourite favorites favourites", topic: "favorite *", sure: 0.9,
		pattern: `\bmy (?:all-time |absolute )?favou?rite (?P<topic>\pL[\pL\pN -]{0,40}?) (?:is|are|has always been|will always be) (?P<value>.+)`,
		not:     `\b(?:is|are) (?:it|that|when|to|though|so far)\b|\bfavou?rite (?:ones?|parts?|things?)\b`},
	{name: "uses as", category: "preference", words: "use using", topic: "*", sure: 0.85,
		pattern: `\bI(?:'m| am)? ` + adverbs + `(?:use|using) (?P<value>[^,.;]{1,60}?) as (?:my|a|the) (?:main |default |primary |daily |usual )?(?P<topic>\pL[\pL\pN -]{1,40})`},
	{name: "has as usual", category: "preference", words: "preferred default usual", topic: "*", sure: 0.85,
		pattern: `\bmy (?:preferred|default|usual|go-to) (?P<topic>\pL[\pL\pN -]{0,40}?) (?:is|are) (?P<value>.+)`},
	{name: "switched", category: "preference", words: "switched changed migrated moved", topic: "*", corrects: true, sure: 0.85,
		pattern: `\bI(?:'ve| have)? ` + adverbs + `(?:switched|changed|migrated|moved) my (?P<topic>\pL[\pL\pN -]{0,40}?) from (?P<old>[^,.;]{1,60}?) to (?P<value>[^,.;]{1,60})`},
	{name: "switched from", category: "preference", words: "switched changed migrated", corrects: true, sure: 0.8,
		pattern: `\bI(?:'ve| have)? ` + adverbs + `(?:switched|changed|migrated) from (?P<old>[^,.;]{1,60}?) to (?P<value>[^,.;]{1,60})`},
	{name: "instead", category: "preference", words: "instead", corrects: true, sure: 0.75,
		pattern: `\bI(?:'m| am)? (?:now |` + adverbs + `)?(?:use|using|drink|eat|prefer|buy) (?P<value>[^,.;]{1,60}?) (?:now )?instead of (?P<old>[^,.;]{1,60})`},
	{name: "no longer", category: "preference", words: "longer anymore more", negative: true, corrects: true, sure: 0.8,
		pattern: `\bI (?:no longer (?P<value>(?:` + doings + `)\b[^.;]{0,80})|(?:don't|do not|can't|cannot) (?:` + doings + `)\b[^.;]{0,80}? any ?more\b)`},
	{name: "prefers for", category: "preference", words: "prefer favor favour", topic: "*", sure: 0.85,
		pattern: `\bI(?:'d| would)? ` + adverbs + `(?:prefer|favou?r) (?P<value>[^,.;]{1,60}?) for (?P<topic>\pL[\pL\pN -]{1,40})`},
	{name: "prefers", category: "preference", words: "prefer favor favour preference", sure: 0.8,
		pattern: `\b(?:I(?:'d| would)? ` + adverbs + `(?:prefer|favou?r) \pL|my preference is)`,
		not:     `\bprefer not to (?:say|answer|talk)\b|\bin my favou?r\b`},
	{name: "dislikes", category: "preference", words: "hate dislike like stand enjoy love", negative: true, sure: 0.75,
		pattern: `\bI ` + adverbs + `(?:(?:hate|dislike|detest)|can't stand|cannot stand|(?:don't|do not|never) ` + adverbs + `(?:like|enjoy|love)) (?P<value>\pL.*)`,
		not:     `\b(?:hate|stand|like|love) (?:it|that|this|you|when you|to (?:say|admit|break|ask|bother|be))\b|\bany ?more\b`},
	{name: "likes", category: "preference", words: "like love enjoy adore", sure: 0.65,
		pattern: `\bI ` + adverbs + `(?:like|love|enjoy|adore) (?P<value>\pL.*)`,
		not:     `\b(?:like|love|enjoy|adore) (?:it|that|this|these|those|you|your|how|what|all|being|hearing|seeing|him|her|them|the (?:idea|sound|way)|(?-i:the [a-z]))\b|\b(?:feel|look|sound|seem)s? like\b|\b(?:love|like) to[.!]?$`},
	{name: "tries to avoid", category: "preference", words: "avoid", negative: true, sure: 0.7,
		pattern: `\bI ` + adverbs + `(?:try to |tend to |have to )?avoid (?P<value>\pL.*)`},

	// Who one is.
	{name: "is called", category: "profile", words: "name call go", topic: "name", sure: 0.9,
		pattern: `\b(?:my (?:full |first |real )?name(?:'s| is)|(?:you can |please |just )?call me|I go by|everyone calls me) (?-i:(?P<value>\p{Lu}[\pL'-]+(?: \p{Lu}[\pL'-]+){0,2}))`,
		not:     `\b(?:call me) (?:when|if|back|at|on|tomorrow|later)\b`},
	{name: "lives in", category: "profile", words: "live living based reside moved relocated", topic: "home", sure: 0.85,
		pattern: `\bI(?:'m| am|'ve| have)? ` + adverbs + `(?:live in|living in|based in|reside in|moved to|relocated to) (?-i:(?P<value>\p{Lu}[\pL'-]+(?:,? \p{Lu}[\pL'-]+){0,3}))`},
	{name: "comes from", category: "profile", words: "from grew", topic: "origin", sure: 0.8,
		pattern: `\bI(?:(?:'m| am) (?:originally )?from| (?:originally )?come (?:originally )?from| grew up (?:in|near)) (?-i:(?P<value>\p{Lu}[\pL'-]+(?:,? \p{Lu}[\pL'-]+){0,2}))`},
	{name: "works as", category: "profile", words: "work job", topic: "occupation", sure: 0.85,
		pattern: `\b(?:I(?:'m| am)? ` + adverbs + `(?:work|working) as an? |my job is (?:being )?an? )(?P<value>\pL[^,.;]{1,60})`},
	{name: "works at", category: "profile", words: "work working works employed", topic: "employer", sure: 0.8,
		pattern: `\bI(?:'m| am)? ` + adverbs + `(?:work|working|employed) (?:for|at|by) (?-i:(?P<value>(?:the )?\p{Lu}[\pL\pN&'-]*(?: (?:of |and |& )?\p{Lu}[\pL\pN&'-]*){0,4}))`},
	{name: "is a", category: "profile", words: words(trades), topic: "occupation", sure: 0.8,
		pattern: `\bI(?:'m| am) ` + adverbs + `an? (?P<value>(?:[\pL-]+ ){0,3}?` + trades + `)\b`},
	{name: "eats no", category: "profile", words: "vegetarian vegan pescatarian celiac diabetic", topic: "diet", sure: 0.85,
		pattern: `\bI(?:'m| am| became| turned| went) ` + adverbs + `(?:an? )?(?P<value>(?:strict )?(?:vegetarian|vegan|pescatarian|celiac|diabetic|lactose[- ]intolerant|gluten[- ]intolerant))\b`},
	{name: "is allergic", category: "profile", words: "allergic allergy intolerant", sure: 0.9,
		pattern: `\bI(?:'m| am) ` + adverbs + `(?:(?:severely|very|highly|mildly) )?(?:allergic|intolerant) to (?P<value>\pL.*)|\bI have an? (?:(?:severe|bad|mild) )?(?:[\pL]+ )?(?:allergy|intolerance)\b`},
	{name: "is of age", category: "profile", words: "years turned", topic: "age", sure: 0.85,
		pattern: `\bI(?:'m| am| just turned| turned) (?P<value>\d{1,3})(?: years old|[.!]?$)`},
	{name: "was born", category: "profile", words: "birthday born", topic: "birthday", sure: 0.85,
		pattern: `\b(?:my birthday(?:'s| is)(?: on)?|I was born on) (?P<value>(?:the )?[\pL\d][^.;!]{2,40})`,
		not:     `\bbirthday is (?:coming|soon|over|near)`},
	{name: "speaks", category: "profile", words: "speak", sure: 0.75,
		pattern: `\bI ` + adverbs + `speak (?-i:(?P<value>(?:fluent |some |a little )?\p{Lu}[\pL]+.*))`},

	// People, animals and things that go on being there, with their state.
	{name: "has a", category: "entity", words: "name named called", topic: "*", sure: 0.85,
		pattern: `\bmy (?P<topic>(?:older |younger |little |big |best |new )?(?:wife|husband|partner|spouse|girlfriend|boyfriend|fiancée?|son|daughter|brother|sister|mother|father|mom|mum|dad|friend|` +
			`boss|manager|colleague|dog|cat|puppy|kitten|horse|bird|company|startup|team|band|boat|car|project))(?:'s name is| is called| is named| named) (?-i:(?P<value>\p{Lu}[\pL'-]+(?: \p{Lu}[\pL'-]+){0,2}))`},
	{name: "contact", category: "entity", words: "mail email phone number mobile cell address website github telegram signal telephone", topic: "*", sure: 0.9,
		pattern: `\b(?:my|our) (?:new |work |private |personal |current )?(?P<topic>e-?mail(?: address)?|phone(?: number)?|mobile(?: number)?|cell(?: phone| number)?|telephone(?: number)?|number|(?:home |mailing |postal )?address|website|github|telegram|signal)(?:'s| is| has changed to| changed to|:) (?P<value>[\S].{2,100})`,
		not:     `\bnumber is (?:one|the|that|going)\b|\baddress is (?:wrong|missing|required)\b`},
	{name: "contact of", category: "entity", words: "mail email phone number mobile address", topic: "*", sure: 0.85,
		pattern: `\b(?-i:(?P<topic>\p{Lu}[\pL-]+'s (?:new |work )?(?:e-?mail(?: address)?|phone(?: number)?|mobile(?: number)?|number|address)))(?: is|:) (?P<value>(?:\+?[\d(][\d ()./-]{4,}|\S+@\S+|\d+ \p{Lu}.*|[\pL]+ \d+.*))`},
	{name: "reach at", category: "entity", words: "reach me", topic: "email", sure: 0.85,
		pattern: `\b(?:reach me (?:at|via|under)|(?:e-?mail|write(?: to)?) me at) (?P<value>\S+@\S+\.\pL+)`},
	{name: "call at", category: "entity", words: "reach call text", topic: "phone", sure: 0.85,
		pattern: `\b(?:reach|call|text) me (?:at|on|under) (?P<value>\+?[\d(][\d ()./-]{4,}\d)`},
	{name: "thing is", category: "entity", words: "project server repo repository database company team office domain stack framework timezone budget printer router branch release product host cluster", topic: "*", sure: 0.65,
		pattern: `\b(?:our|my|the) (?P<topic>(?:[\pL\pN]+ ){0,2}?(?:project|server|repo|repository|database|company|team|office|domain|stack|framework|time ?zone|budget|printer|router|main branch|release|product|host|cluster)) (?:is (?:now )?(?:called|named|at|in|on|running on|using|hosted (?:on|at|in)|located (?:in|at)|based (?:in|on))|runs on|uses|lives (?:at|in|on)|moved to|is) (?P<value>\S.{1,80})`,
		not:     `\bis (?:a bit|like|quite|known|kind|also|all|always|really|so|very|too|just|not|still|going|getting|down|slow|broken|great|good|nice|fine|bad|due|planned|scheduled|coming|the best|amazing|awesome|important|doing|about|happy|sad|struggling|working)\b`},

	// What was decided, and what is to be done by when.
	{name: "decided", category: "event", words: "decided agreed chose chosen settled decision", sure: 0.8,
		pattern: `\b(?:we|I|they|the team|my [\pL]+)(?:'ve| have| both| all)? ` + adverbs + `(?:decided|agreed|chose|chosen|settled)\b(?: \pL+)? ?(?:to|that|on|against|not|for|the|a|upon|\pL)|\bthe decision (?:is|was) (?:to|that)\b`,
		not:     `\b(?:haven't|have not|not yet|never) (?:decided|agreed|chosen)\b|\bif (?:we|I)\b`},
	{name: "goes with", category: "event", words: "go going", sure: 0.75,
		pattern: `\b(?:we'll|we will|we're|we are|let's|I'll|I will|I'm|I am) (?:go|going) with (?P<value>\pL.*)`,
		not:     `\bgo(?:ing)? with (?:you|me|him|her|them|us|my|the flow)\b`},
	{name: "due", category: "event", words: "deadline due", sure: 0.85,
		pattern: `\bdeadline\b.*\b(?:is|on|at|by|was|moved|to)\b.*(?:\d|` + days + `)|\b(?:is|are) due (?:on|by|at|in|this|next)?.*(?:\d|` + days + `)`},
	{name: "must by", category: "event", words: "must need have needs has", sure: 0.75,
		pattern: `\b(?:we|I|it|this|that|they|you|the \pL+) (?:must|need to|needs to|have to|has to)\b.*\b(?:by|before|until|no later than) (?:the )?(?:end of (?:the )?)?(?:\d|` + days + `)`},
	{name: "is on", category: "event", words: "appointment meeting interview flight exam wedding surgery launch release conference trip vacation", sure: 0.75,
		pattern: `\b(?:my|our|the|a|an) (?:[\pL]+ ){0,3}?(?:appointment|meeting|interview|flight|exam|wedding|surgery|launch|release|conference|trip|vacation) (?:is|are|starts|begins|will be|got moved|was moved|moved)(?: scheduled| planned| set)?(?: for| on| at| to)?\b.*(?:\d|` + days + `)`},

	{name: "happened", category: "event", words: days + " ago yesterday just recently finally last weekend", sure: 0.6,
		pattern: `\b(?:I|we)(?:'ve| have)? (?:(?P<just>just|recently|finally) )?(?:also )?` + deeds + `\b(?:.*\b(?:yesterday|today|ago|last (?:week|weekend|month|year|night|summer|winter|spring|fall|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may|june|july|august|september|october|november|december)|this (?:week|weekend|month|year|morning)|on (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)|in (?:january|february|march|april|may|june|july|august|september|october|november|december|\d{4}))\b)|` +
			`\b(?:yesterday|last (?:week|weekend|month|year|night|summer|winter|spring|fall|monday|tuesday|wednesday|thursday|friday|saturday|sunday))\b.{0,40}\b(?:I|we) ` + deeds + `\b|\b(?:I|we)(?:'ve| have)? (?:just|recently|finally) ` + deeds + `\b`},

	// Problems with what mended them, and how things are done.
	{name: "fix", category: "case", words: "fixed solved resolved fix solution", sure: 0.75,
		pattern: `(?:^|\b(?:I|we|he|she|they|was|were|got|finally|have|has|had|'ve) (?:\pL+ )?)(?:fixed|solved|resolved)\b(?: (?:it|this|that|the|our|my|a|an)\b)?.{0,60}?\b(?:by|with|using|after)\b|\bthe (?:fix|solution|workaround) (?:is|was) |\b(?:that|which|this|\pL+ing [^.]{1,60}) (?:fixed|solved|resolved) (?:it|the|that|our|my)\b`,
		not:     `\b(?:not|n't|never|almost) (?:been )?(?:fixed|solved|resolved)\b`},
	{name: "cause", category: "case", words: "caused cause culprit", sure: 0.7,
		pattern: `\b(?:was|is|were) caused by \pL|\bthe (?:root )?cause (?:is|was) |\bthe culprit (?:is|was) `},
	{name: "turned out", category: "case", words: "turned turns", sure: 0.7, troubled: true, pattern: `\bturn(?:ed|s) out (?:that |it was |to be )`},
	{name: "routine", category: "pattern", words: "whenever every each before after always", sure: 0.7,
		pattern: `\b(?:whenever|every time|each time) (?:I|we|you|the|a|somebody|someone|there)\b.{3,},? (?:I|we|you) |\b(?:before|after) (?:each|every) \pL+(?: \pL+){0,2},? (?:I|we) `},
	{name: "habit", category: "pattern", words: "always never usually every", sure: 0.65,
		pattern: `\bI (?:always|never|usually|normally) (?:start|begin|check|do|run|make|take|go|get|write|read|keep|put|use|work|drink|eat|wake|leave|walk|test|review|push|deploy|commit|answer|call)\b|\bI \pL+ [^.]{0,60}\bevery (?:morning|evening|day|week|night|monday|tuesday|wednesday|thursday|friday|saturday|sunday|weekend)\b`},
}

// days are words that name a day.
const days = `today|tonight|tomorrow|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may|june|july|august|september|october|november|december|week|month|year|end of`
