"""What a kitchen's words stand for: which foods hold meat, milk, gluten and the like, and which only sound as if.

Everything is written in the singular and in plain letters, as `tokens` gives it. The longest name wins, so that
"peanut butter" is a peanut and no butter, and "coconut milk" is no milk at all.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from types import MappingProxyType

_SURE = {
    "meat": """
        alligator, ambergris, animal fat, biltong, bison, boar, bologna, bone broth, bone marrow, bratwurst, buffalo,
        burger, bush meat, calf, carcass, caribou, caul fat, chili con carne, cow, cow foot, cow skin, cow tongue,
        crocodile, deer, demi glace, dripping, drumstick, elk, espagnole, foie gra, frankfurter, frog leg, giblet,
        gizzard, goat, haggis, hamburger, hare, hot dog, hotdog, jerky, kangaroo, kebab, kibbeh, kielbasa, lamb,
        liver, liverwurst, meat, meat stock, meatball, merguez, mincemeat, moose, mortadella, musk, mutton, oxtail,
        pastrami, pate, ponmo, rabbit, reindeer, rib eye, salami, sausage, schmaltz, shaki, shank, short rib,
        shortrib, spare rib, sparerib, squirrel, suet, sweetbread, tallow, tripe, turtle, veal, venison, wingette""",
    "beef": """
        beef, beef tip, brisket, chuck, corned beef, filet mignon, fillet steak, ground beef, ground chuck, hamburger,
        london broil, minute steak, pastrami, ribeye, short rib, sirloin, steak, stewing steak""",
    "pork": """
        andouille, bacon, black pudding, bratwurst, capicola, chicharron, chorizo, coppa, fatback, gammon, guanciale,
        ham, ham hock, hock, hog, jamon, lap cheong, lard, lardon, linguica, longaniza, mortadella, nduja, pancetta,
        pepperoni, pig, piglet, pork, pork belly, pork rind, prosciutto, rasher, salami, salt pork, serrano ham,
        soppressata, spam, speck, tasso, trotter""",
    "poultry": """
        broiler, capon, chicken, cornish hen, duck, duckling, fowl, goose, guinea fowl, hen, ostrich, partridge,
        pheasant, pigeon, poultry, quail, schmaltz, turkey""",
    "fish": """
        anchovy, anchovy paste, bacalao, bacalhau, bagoong, bangus, barracuda, barramundi, bass fillet, bonga, bonito,
        bouillabaisse, caesar dressing, carp, catfish, caviar, cod, codfish, crab stick, croaker, dashi, dryfish, eel,
        fish, flounder, garum, grouper, haddock, hake, halibut, herring, ikura, imitation crab, kapenta, katsuobushi,
        kipper, lox, lutefisk, mackerel, mahi mahi, masago, matje, milkfish, monkfish, mullet, nam pla, panla, patis,
        perch, pilchard, pollock, red snapper, rockfish, roe, salmon, saltfish, sardine, sea bass, seafood, seafood
        stock, shark, skate wing, smelt, snapper, sole fillet, sprat, stockfish, surimi, swordfish, tilapia, titus,
        tobiko, trout, tuna, turbot, walleye, whitebait, whiting""",
    "shellfish": """
        abalone, bagoong, belacan, calamari, clam, clamato, cockle, conch, crab, crab meat, crab stick, crabmeat,
        crawfish, crayfish, crustacean, cuttlefish, escargot, imitation crab, krill, langoustine, lobster, mollusc,
        mussel, octopus, oyster, periwinkle, prawn, scallop, scampi, seafood, seafood mix, seafood stock, shellfish,
        shrimp, shrimp paste, snail, squid, whelk, winkle, xo sauce""",
    "dairy": """
        alfredo, american slice, asiago, ayran, bearnaise, bechamel, bleu, blue cheese dressing, boursin, brie,
        brioche, bryndza, burrata, butter, butter milk, buttercream, buttermilk, butterscotch, caciocavallo, caesar
        dressing, cajeta, camembert, cantal, caramel, casein, cheddar, cheese, cheesecake, chhena, clarified butter,
        clotted cream, colby, comte, condensed milk, cool whip, cotija, cotta, cream, cream of celery, cream of celery
        soup, cream of chicken, cream of chicken soup, cream of mushroom, cream of mushroom soup, cream soup, creamer,
        crema, creme, creme fraiche, croissant, curd, custard, dahi, double cream, dulce de leche, edam, eggnog,
        emmental, emmentaler, emmenthal, emmenthaler, feta, fontina, fromage, fromage frais, frosting, fudge, garlic
        butter, gelato, ghee, gorgonzola, gouda, grana padano, gruyere, half and half, half half, halloumi, havarti,
        hollandaise, ice cream, jarlsberg, kajmak, kashkaval, kaymak, kefir, khoa, khoya, kraft dinner, labneh, lassi,
        leche, leicester, limburger, malai, manchego, mascarpone, mawa, milk, milk chocolate, milk powder, milkshake,
        milo, monterey jack, monterrey jack, mornay, mozzarella, neufchatel, nutella, oaxaca, paneer, panna, parmesan,
        parmesean, parmigiano, pecorino, pesto, philadelphia, provolone, puff pastry butter, quark, queso, queso
        fresco, raclette, raita, ranch, ranch dressing, rasgulla, reggianito, reggiano, ricotta, ricotta salata,
        romano, roquefort, sherbet, sirene, skyr, smetana, sour cream, stilton, stracchino, swiss cheese, syrniki,
        taleggio, tilsit, toffee, tvorog, tzatziki, velveeta, whey, whipped cream, whipped topping, white chocolate,
        yoghourt, yoghurt, yogourt, yogurt""",
    "egg": """
        aioli, amaretti, bearnaise, beaten white, brioche, brownie, buttercream, caesar dressing, cake, challah, choux
        pastry, coleslaw, crab stick, custard, donut, egg, egg noodle, egg white, eggnog, fresh pasta, fried egg,
        hollandaise, imitation crab, lady finger biscuit, ladyfinger, macaroon, madeleine, marshmallow creme,
        marshmallow fluff, mayo, mayonnaise, meringue, muffin, nougat, omelet, omelette, pancake, potato salad,
        profiterole, ranch, ranch dressing, remoulade, savoiardi, sponge, sponge cake, sponge finger, stiff white,
        surimi, tartar sauce, tartare sauce, thousand island, waffle, yolk""",
    "gluten": """
        ale, angel hair, atta flour, bagel, baguette, baking mix, barley, batter, bechamel, beer, biscuit, bisquick,
        boboli, bran flake, bread, bread crumb, breadcrumb, breading, breadstick, brioche, brownie, bucatini, bulgar,
        bulghur, bulgur, bun, burghul, cake, cannelloni, capellini, cavatappi, challah, chapati, chapatti, ciabatta,
        conchiglie, cookie, corn bread, corn flake, cornbread, cornflake, couscous, crab stick, cracker, cream of
        celery, cream of celery soup, cream of chicken, cream of chicken soup, cream of mushroom, cream of mushroom
        soup, cream of wheat, crepe, croissant, crouton, crumb, crumpet, digestive, ditalini, donut, dough, dumpling,
        durum, egg noodle, egg roll, einkorn, english muffin, espagnole, farfalle, farina, farro, fettuccine,
        fettuccini, fettucine, filini, fillo, filo, flatbread, flour, focaccia, freekeh, fregola, french fried onion,
        fried onion, frik, frikeh, fufu flour, fusilli, ginger snap, gingerbread, gingersnap, gnocchi, graham,
        guinness, gyoza wrapper, hoagie, hoisin, imitation crab, kaiser, kamut, kibbeh, kluski, ladyfinger, lager,
        lasagna, lasagna sheet, lasagne, lasagne sheet, lavash, licorice, linguine, linguini, loaf, macaroni, maida,
        malt, manicotti, marmite, matza, matzah, matzo, matzoh, melba, milo, mostaccioli, muffin, naan, noodle,
        orecchiette, oreo, orzo, ovaltine, pancake, pancake mix, panko, pappardelle, paratha, pasta, pastina, pastry,
        penne, phyllo, pie, pie crust, pie shell, pita, pizza, ponzu, pretzel, pumpernickel, puri, ramen, ramen
        noodle, rava, ravioli, rice krispy, rigatoni, ritz, roll, roti, rotini, roux, rusk, rye, saltine, sandwich,
        savoiardi, seasoned coating, seitan, self raising, self rising, semolina, sevai, shake n bake, shell macaroni,
        shortbread, shortcrust, shoyu, soba, somen, sooji, sooji rava, sourdough, soya sauce, spaetzle, spaghetti,
        speculaa, spekulatius, spelt, sponge finger, spring roll, stout, strudel, stuffing, sub roll, suji, surimi,
        tagliatelle, tagliolini, tart shell, tempura, teriyaki, toast, toasted bread, tortellini, tortiglioni,
        triticale, udon, vegemite, vital wheat, vol au vent, wafer, waffle, weetabix, wheat, wheat bran, wheat flour,
        wheat germ, wheatberry, won ton, wonton, wrap, ziti, zwieback""",
    "nuts": """
        almond, almond essence, almond extract, almond paste, amaretti, baklava, brazil nut, candlenut, cashew,
        cashewnut, chestnut, dukkah, filbert, frangipane, gianduja, hazelnut, hickory nut, kemiri, macadamia,
        marzipan, mixed nut, nut, nutella, orgeat, pecan, pesto, pignoli, pine nut, pinenut, pistacchio, pistachio,
        praline, romesco, trail mix, walnut""",
    "peanut": """
        ground nut, kuli kuli, monkey nut, peanut, peanut sauce, satay, snicker, suya, suya spice, yaji""",
    "soy": """
        black bean sauce, doenjang, douchi, edamame, gochujang, hoi sin, hoisin, miso, natto, okara, ponzu, shoyu,
        soy, soya, soyabean, soybean, tempeh, teriyaki, textured soy, textured vegetable protein, tvp, yuba""",
    "alcohol": """
        absinthe, alcohol, ale, amaretto, aperol, arak, armagnac, bailey, beer, benedictine, bitters, bourbon, brandy,
        burgundy, cabernet, cachaca, calvado, campari, champagne, chardonnay, chartreuse, chianti, cognac, cointreau,
        curacao, drambuie, everclear, frangelico, galliano, gin, grand marnier, grappa, guinness, hard cider, kahlua,
        kirsch, lager, limoncello, liqueur, liquor, madeira, marsala, mead, merlot, mezcal, mirin, ouzo, pernod,
        pisco, port, prosecco, raki, riesling, sake, sambuca, sauvignon, schnapp, shaoxing, sherry, soju, spirit,
        stout, tequila, triple sec, vermouth, vodka, whiskey, whisky, wine""",
    "honey": """
        baklava, honey, honeycomb, nougat""",
    "gelatin": """
        aspic, gelatin, gelatin powder, gelatine, gummy bear, gummy worm, isinglass, jell o, jello, marshmallow,
        marshmallow creme""",
    "sesame": """
        benne, dukkah, gomasio, halva, halvah, hummus, sesame, tahina, tahini, til""",
}
# What may hold it, as it is made in one kitchen and not in the next: nobody knows without the packet.
_DOUBTFUL = {
    "meat": """
        baked bean, bouillon, bouillon cube, bouillon powder, broth, broth powder, chilli con carne, consomme, cooking
        fat, crackling, cube, cutlet, dumpling, egg roll, empanada, feijoada, filet, fillet, frying fat, gravy, hash,
        knorr, knorr cube, leg, loin, maggi, maggi cube, marinara, mince, offal, onion soup mix, patty, pizza, ragu,
        ramen, ramen noodle, ravioli, refried bean, roast, seasoning cube, seasoning packet, soup, soup mix, spring
        roll, stock, stock cube, taco, tamale, tenderloin, thigh, tongue, tortellini, wiener, wing""",
    "pork": """
        baked bean, bologna, casing, cold cut, crackling, cutlet, dripping, dumpling, egg roll, frankfurter, gelatin,
        ground meat, gyoza, hash, hot dog, jello, kebab, kielbasa, lard substitute, loin, lunch meat, marshmallow,
        meat, meatball, mince, pate, refried bean, roast, sausage, spare rib, sparerib, tenderloin, wonton""",
    "fish": """
        bass, bouillon, broth, caesar, caviar substitute, cube, curry paste, filet, fillet, furikake, hp sauce,
        kimchi, maggi, nori mix, olive paste, pate, perch, pike, puttanesca, roe, seasoning cube, shrimp paste, skate,
        sole, soup, steak, stock, stock cube, sushi, tapenade, thai curry paste, ugba, umami, worcester,
        worcestershire, worchestershire, xo sauce""",
    "shellfish": """
        bouillon, broth, curry paste, dumpling, egg roll, gumbo, kimchi, laksa paste, nam pla, nam prik, ogiri, roe,
        sambal, seasoning cube, soup, spring roll, stock, surimi, sushi, thai curry paste, xo""",
    "dairy": """
        artificial creamer, baking chocolate, baking mix, batter, biscuit, bisquick, bouillon, bread, bread machine,
        breading, brioche bun, brownie, bun, cake, cake mix, candy, candy bar, caramel, challah, chocolate, cocoa
        drink, cocoa mix, coffee whitener, coleslaw, cookie, cooking spray butter flavor dairy, cornbread, cracker,
        crouton, crumb, donut, dough, frosting, gnocchi, graham, granola, gravy, hot chocolate, hot dog, icing,
        instant pudding, jack, ladyfinger, loaf, macaroon, maggi, margarine, marzipan chocolate, mashed potato, mayo,
        mayonnaise, muffin, naan, nougat, oleo, oreo, pancake, pancake mix, pastry, pesto, pie, pie crust, pie
        filling, pie shell, pizza, potato salad, protein powder, pudding, pudding mix, ravioli, ritz, roll, rusk,
        salad dressing, saltine, sandwich, sauce, sausage, sherbert, shortbread, shortcrust, smoothie, sorbet, soup,
        sponge, spread, stock cube, stuffing, tart, tart shell, toast, tortellini, wafer, waffle, white sauce""",
    "egg": """
        bagel, baking mix, batter, biscuit, bread, breading, bun, caesar, cake mix, candy, cannelloni, challah,
        cookie, cornbread, cracker, cream pie, crepe, custard powder, dough, dumpling, egg roll, fettuccine, frosting,
        gelato, gnocchi, ice cream, icing, kluski, ladyfinger, lasagna, lasagna sheet, lasagne, lecithin, linguine,
        loaf, macaroni salad, marshmallow, marzipan, meatball, naan, noodle, nougat, pancake mix, pappardelle, pasta,
        pastry, pie, pie crust, pudding, quiche, ramen, ramen noodle, ravioli, roll, salad dressing, sandwich, sauce,
        sherbet, shortcrust, spaetzle, sponge, spread, stuffing, surimi, tagliatelle, tart, tart shell, tempura,
        toast, tortellini, vegetarian burger, veggie burger, wafer, won ton, wonton""",
    "gluten": """
        alfredo, amaretti, asafetida, asafoetida, baked bean, baking powder mix, barley miso, black bean sauce, black
        pudding, bouillon, bouillon cube, bourbon, bran, broth, burger, burrito, candy, candy bar, cereal, chocolate,
        chocolate bar, chorizo, cider, cornmeal mix, cream soup, crumble, cube, curry powder mix, curry roux, custard
        powder, doenjang, dry soup mix, falafel, fish stick, frosting, gluten free oat, gochujang, granola, gravy,
        groat, haggis, ham, hing, hot dog, hp sauce, ice cream, icing, injera, instant coffee substitute, jaffa, kasha
        mix, knorr, macaroon, maggi, maggi cube, malted, meatball, miso, mock duck, muesli, multigrain, mustard powder
        mix, nacho, nougat, oat, oat bran, oatmeal, onion ring, onion soup mix, pate, pie filling, protein powder,
        pudding, pudding mix, salad dressing, sandwich, sauce, sausage, seasoning cube, seasoning packet, soup, stock,
        stock cube, taco, tempeh, tortilla, tvp, veggie burger, vodka, whiskey, whisky, white sauce, worcester,
        worcestershire, worchestershire, wrapper, yeast extract""",
    "nuts": """
        amaretto, biscotti, brownie, cake, cake mix, candy, candy bar, cereal, chocolate bar, chocolate spread,
        cookie, curry paste, dessert topping, dried fruit mix, dukkah, frangelico, fruitcake, fudge, graham, granola,
        halva, ice cream, korma paste, macaroon, marzipan, mincemeat, mixed fruit, mole, mole paste, muesli, muffin,
        nougat, pesto, plant based milk, praline, romesco, toffee, trail mix, turron, vegan cheese, vegan cream""",
    "peanut": """
        brownie, cake, cake mix, candy, candy bar, cereal, chocolate bar, chocolate spread, cookie, curry paste, egg
        roll, granola, hoisin, ice cream, massaman curry paste, mixed nut, mole, mole paste, muesli, muffin, nougat,
        nut, sate, trail mix""",
    "soy": """
        baking mix, biscuit, bouillon, burger, cake mix, canned tuna, chocolate, cookie, cooking spray, cracker, cube,
        curry roux, egg roll, frozen meatball, gochujang, gravy, hot dog, knorr, lecithin, maggi, margarine, mayo,
        mayonnaise, pancake mix, plant based milk, protein powder, ramen, salad dressing, sauce, sausage, seasoning
        cube, soup, spread, spring roll, stock cube, teriyaki, vegan butter, vegan cheese, vegan cream, vegan
        mayonnaise, vegan milk, vegan sausage, vegetarian sausage, worcester, worcestershire""",
    "alcohol": """
        almond essence, almond extract, apple cider, balsamic, batter, christma pudding, cider, cooking wine, dijon,
        dijon mustard, essence, extract, fruitcake, kombucha, lemon extract, mincemeat, orange extract, ponzu, rum
        extract, rum flavor, teriyaki, tiramisu, trifle, truffle, vanilla, vanilla essence, vanilla extract""",
    "honey": """
        baklava, cereal, graham, granola, muesli, teriyaki""",
    "gelatin": """
        brawn, candy, candy corn, cheesecake, frosting, gummy, icing, jelly crystal, jelly powder, mousse, nougat,
        pate, pie, pudding mix, rice krispy, sprinkle, whipped topping, yoghurt, yogurt""",
    "sesame": """
        asian dressing, bagel, breadstick, bun, cracker, dukkah, everything bagel, falafel, furikake, granola, hoisin,
        stir fry sauce, teriyaki, trail mix, za atar, zaatar""",
}
# They sound like one of those and are none, or are another one. A name with nothing behind the colon holds nothing.
_OTHER = """
    adobo sauce, agar, agar agar, alcohol free, ale yeast, almond butter: nuts, almond cheese: nuts, almond cream:
    nuts, almond flour: nuts, almond meal: nuts, almond milk: nuts, almond oil: nuts, almond shaped, amala, amaranth
    flour, angostura bitter: alcohol, anise seed, apple butter, apple chip, apple cider vinegar, apple pie spice,
    apple sauce, applesauce, arrowroot flour, artichoke heart, bacon bit: meat pork, bacon fat: meat pork, baker
    chocolate, baking powder, baking soda, baloney: meat ?pork, balsamic vinegar: ?alcohol, banana chip, banana flour,
    barbecue sauce: ?fish ?gluten ?honey ?soy, barley free, barley malt: gluten, barley water: gluten, bbq sauce:
    ?fish ?gluten ?honey ?soy, bean, bean curd: soy, bean flour, bean paste, bean powder, bean soup: ?gluten ?meat,
    bean sprout, bean thread noodle, beaten, beef bacon: beef meat, beef bone: beef meat, beef bouillon: beef meat
    ?gluten, beef bouillon cube: beef meat ?gluten, beef broth: beef meat, beef cube: beef meat, beef fat: beef meat,
    beef hot dog: beef meat, beef sausage: beef meat ?pork, beef seasoning: ?meat, beef soup: beef meat ?gluten, beef
    steak tomato, beef stock: beef meat, beef tomato, beefsteak, beefsteak tomato, beer batter: alcohol gluten, beer
    can, beer nut: peanut, beer vinegar: gluten ?alcohol, beer yeast: ?gluten, besan, betel nut, birch beer, biscuit
    flour: gluten, bitter, bitter almond: nuts, bitter chocolate, bitter gourd, bitter green, bitter leaf, bitter
    lemon, bitter melon, bitter orange, bitterleaf, bittersweet chocolate, black bean paste: soy ?gluten, black eyed
    pea, black gram flour, bone, bone in, bone meal: meat, bonein, boneless, bread cube: gluten, bread flour: gluten,
    bread fruit, bread improver, bread machine yeast, bread pan, bread seasoning, bread spice, bread spread, bread
    yeast, breadfruit, breadnut, breast, brewer yeast: ?gluten, brown sauce: ?fish ?gluten, buckwheat, buckwheat
    flour, buffalo hot sauce, buffalo milk: dairy, buffalo mozzarella: dairy, buffalo sauce: ?dairy, buffalo wing
    sauce: ?dairy, burger bun: gluten ?dairy ?egg ?sesame, butter bean, butter beer, butter biscuit: dairy gluten,
    butter cookie: dairy gluten ?egg, butter cracker: dairy gluten, butter crunch lettuce, butter extract, butter
    flavor, butter flavored: ?dairy, butter lettuce, butter squash, butter substitute: ?dairy ?soy, butterbean,
    buttercup, buttercup squash, buttered: dairy, butterhead lettuce, butternut, butternut kernel: nuts, butternut
    pumpkin, butternut squash, cabbage heart, cake decoration: ?dairy ?gluten, cake flour: gluten, cake of ragi, cake
    of tofu: soy, cake pan, cake rack, cake tin, cake tofu: soy, cake yeast, candied fruit, candied ginger, candied
    peel, candle nut: nuts, caramel color, caramel coloring, caramel colour, caramel colouring, caraway seed, carob
    chip: ?dairy, cashew butter: nuts, cashew cheese: nuts, cashew cream: nuts, cashew milk: nuts, cassava flake,
    cassava flour, cauliflower steak, celery, celery heart, celery rib, celery seed, cellophane noodle, champagne
    vinegar: ?alcohol, cheese cube: dairy, cheese puff: dairy, cheese sauce: dairy ?gluten, cheese spread: dairy,
    cheesy: dairy, chestnut flour: nuts, chia egg, chia seed, chick pea, chicken bone: meat poultry, chicken bouillon:
    meat poultry ?gluten, chicken bouillon cube: meat poultry ?gluten, chicken breast: meat poultry, chicken broth:
    meat poultry, chicken cube: meat poultry, chicken curry powder, chicken cutlet: meat poultry, chicken egg: egg,
    chicken fat: meat poultry, chicken fried, chicken leg: meat poultry, chicken masala, chicken mushroom, chicken of
    the wood, chicken rub, chicken sausage: meat poultry ?pork, chicken seasoning, chicken skin: meat poultry, chicken
    soup: meat poultry ?gluten, chicken spice, chicken stock: meat poultry, chicken thigh: meat poultry, chicken wing:
    meat poultry, chickpea, chickpea flour, chickpea miso: soy, chile, chile sauce, chili, chili bean: ?meat, chili
    crisp, chili flake, chili garlic sauce, chili oil, chili paste, chili pepper, chili powder, chili sauce, chili
    seasoning, chilli, chilli powder, chilli sauce, chip, chocolate chip: ?dairy ?soy, chocolate liqueur: alcohol
    ?dairy, chocolate syrup: ?dairy, chop, chopstick, chunky peanut butter: peanut, cider vinegar, club soda, cocktail
    sauce: ?fish, coco nut, cocoa butter, cocoa nib, coconut, coconut amino, coconut butter, coconut cream, coconut
    flour, coconut milk, coconut oil, coconut vinegar, coconut yoghurt, coconut yogurt, cocoyam, cod liver oil: fish,
    coffee liqueur: alcohol, cola nut, cookie flour: gluten, cooking chocolate: ?dairy, coriander seed, corn chip,
    corn flour, corn meal, corn nut, corn starch, corn stock, corn taco shell, corn tortilla, cornflour, cornmeal,
    cornstarch, cotton candy, cow butter: dairy, cow cheese: dairy, cow milk: dairy, cowpea flour, crab apple, crab
    boil, crab boil seasoning, crab leg: shellfish, crab seasoning, crab stick seasoning, cranberry sauce, cream
    cheese: dairy, cream corn: ?dairy, cream cracker: gluten, cream liqueur: alcohol dairy, cream of coconut, cream of
    tartar, cream puff: dairy egg gluten, cream sherry: alcohol, cream soda, cream style, cream style corn: ?dairy,
    cream substitute: ?dairy ?soy, creamed, creamed coconut, creamed corn: ?dairy, creamed honey: honey, creamer
    potato, creamy peanut butter: peanut, creme de banane: alcohol, creme de cacao: alcohol, creme de cassis: alcohol,
    creme de menthe: alcohol, creme de violette: alcohol, crumb topping: gluten ?dairy, crunchy peanut butter: peanut,
    crust: gluten ?dairy ?egg, crust less, crust salt, cube steak: beef meat, cube sugar, cubed, cumin seed, curd
    rice: dairy, curry leaf, custard apple, dairy free, dairy free chocolate, dark chocolate: ?dairy, dash bitter:
    alcohol, deep fry, doubanjian: gluten soy, doubanjiang: gluten soy, doughnut: egg gluten ?dairy, dressing: ?dairy
    ?egg ?fish ?honey ?soy, duck breast: meat poultry, duck egg: egg, duck fat: meat poultry, duck sauce, dumpling
    flour: gluten, dumpling skin: gluten, dumpling wrapper: gluten ?egg, earth nut: peanut, egg beater: egg, egg
    color, egg cream: dairy, egg free, egg plant, egg replacement, egg replacer, egg roll wrapper: egg gluten, egg
    shape, egg size, egg sized, egg substitute: ?dairy ?egg ?soy, egg tomato, egg wash: egg ?dairy, egg yellow color,
    egg yellow colouring, eggfruit, eggless, eggplant, egusi, elbow: gluten, elubo, enchilada sauce: ?gluten,
    ethiopian flatbread: ?gluten, fat, fat back: meat pork, fat content, fat free, fennel seed, fermented black bean:
    soy ?gluten, fillet fish: fish, filling, fish ball: fish ?egg ?gluten, fish bone: fish, fish broth: fish, fish
    fillet: fish, fish head: fish, fish masala, fish mint, fish oil: fish, fish sauce: fish ?shellfish, fish
    seasoning, fish spice, fish steak: fish, fish stock: fish, fishy, flax egg, flax seed, flaxseed, flour corn, flour
    tortilla: gluten, fowl egg: egg, french fry: ?gluten, fried rice, frito pie, fruit butter, fruit spread, fry,
    frying oil, fufu, full fat, garam masala, garbanzo flour, garlic cube, garlic head, garnish, garri flour, gin ger,
    ginger ale, ginger beer, ginger cube, gingerbread spice, ginseng, glass noodle, gluten, gluten free, gluten free
    soy sauce: soy, glutinous rice flour, goat butter: dairy, goat cheese: dairy, goat milk: dairy, goat yoghurt:
    dairy, goat yogurt: dairy, goldfish cracker: dairy gluten, goose egg: egg, goose fat: meat poultry, goose foot,
    gooseberry, graham masala, grain, grain mustard, grain rice, grain salt, grain sugar, gram flour, grape nut:
    gluten, green chili, ground, ground round: beef meat, groundnut: peanut, groundnut oil: peanut, gyoza skin:
    gluten, half, half cup, half pint, ham bone: meat pork, ham steak: meat pork, ham stock: meat pork, hambone: meat
    pork, hamburger bun: gluten ?dairy ?egg ?sesame, hamburger dill, hamburger pickle, hamburger relish, hamburger
    roll: gluten ?dairy ?egg, hazelnut flour: nuts, hazelnut milk: nuts, hazelnut oil: nuts, head, head broccoli, head
    cabbage, head cauliflower, head garlic, head lettuce, head of broccoli, head of cabbage, head of cauliflower, head
    of garlic, head of lettuce, heart, heart of celery, heart of palm, heart of romaine, hemp milk, hen egg: egg, hen
    of the wood, hickory chip, hoisin sauce: gluten soy, honey bee, honey crisp, honey crisp apple, honey dew, honey
    mango, honey mushroom, honey mustard: honey, honey tangerine, honeycrisp, honeycrisp apple, honeydew, honeydew
    melon, horseradish sauce: ?dairy ?egg, hot dog bun: gluten ?dairy ?egg, hot dog relish, hot dog roll: gluten
    ?dairy ?egg, hot sauce, ice cube, imitation bacon: ?gluten ?soy, ingredient: ?alcohol ?dairy ?egg ?fish ?gelatin
    ?gluten ?honey ?meat ?nuts ?peanut ?sesame ?shellfish ?soy, irish cream: alcohol dairy, italian dressing: ?dairy,
    jack daniel: alcohol, jack fruit, jackfruit, jelly, jelly bag, jelly bean: ?gelatin, jelly roll: egg gluten,
    karite butter, kelp noodle, kidney, kidney bean, kinako flour: soy, king oyster, king oyster mushroom, kola nut,
    kombu dashi, kombu stock, kosher dill, kosher pickle, kosher salt, krill oil: shellfish, lactose free milk: dairy,
    lamb chop: meat, lamb leg: meat, lamb lettuce, lamb quarter, lamb stock: meat, lasagna noodle: gluten ?egg,
    laughing cow: dairy, leg of lamb: meat, leg room, lemon curd: dairy egg, lemon sauce, lemon skin, lemon wing,
    lentil flour, lettuce heart, licorice root, liquid amino: soy, liquorice root, live stock, liver sausage: meat,
    liverwort, loaf pan, loaf sugar, loaf tin, lobster mushroom, locust bean cake, long grain, long grain rice, lotus
    flour, lotus nut, low fat, lowfat, macadamia oil: nuts, maize flour, malt extract: gluten, malt powder: gluten,
    malt syrup: gluten, malt vinegar: gluten, malt whisky: alcohol ?gluten, malted milk: dairy gluten, malted milk
    powder: dairy gluten, marinade: ?alcohol ?dairy ?fish ?gluten ?honey ?soy, masa flour, matzo ball: egg gluten,
    meat cube: meat, meat masala, meat rub, meat seasoning, meat substitute: ?gluten ?soy, meat tenderizer, meat
    thermometer, medium grain, mesquite chip, milk alternative: ?nuts ?soy, milk fat: dairy, milk free, milk of
    magnesia, milk substitute: ?nuts ?soy, milk thistle, milkfat: dairy, milky, millet flour, mint chip: ?dairy, mint
    sauce, mochiko, monterey chicken: meat poultry, multigrain bread: gluten ?dairy, mung bean noodle, mung bean
    starch, mushroom broth, mushroom stock, mustard sauce, mustard seed, niter kibbeh: dairy, nitter kibbeh: dairy,
    non alcoholic, non alcoholic beer: gluten, non dairy, non dairy milk: ?nuts ?soy, non fat, nonalcoholic,
    nonalcoholic beer: gluten, nondairy, nonfat, noodle flour: gluten, nut butter: nuts ?peanut, nut cheese: nuts, nut
    crumb: nuts, nut crust: nuts, nut free, nut meg, nut milk: nuts, nut roast, nut sized, nutmeg, oat cream: ?gluten,
    oat flour: ?gluten, oat milk: ?gluten, oatmeal flour: ?gluten, oaxaca chile, oil, oil nut, okonomi sauce: gluten
    soy ?fish, old bay, olive oil, orange bitter: alcohol, orange skin, oyster cracker: gluten, oyster mushroom,
    oyster plant, oyster sauce: gluten shellfish soy, palm heart, palm nut, palm oil, pancake syrup, pasta flour:
    gluten, pasta sauce: ?dairy ?meat, pasta seasoning, pasta water: gluten, pastry flour: gluten, pea flour, pea
    protein, pea starch, peanut butter: peanut, peanut flour: peanut, peanut free, peanut oil: peanut, pearl barley:
    gluten, pecan crumb: nuts, pecan half: nuts, pepper jack: dairy, pepper sauce, peppercorn, picante sauce, pie
    apple, pie dish, pie pan, pie plate, pie pumpkin, pie spice, pie tin, pig weed, pigeon pea, pigweed, pistachio
    oil: nuts, pizza cheese: dairy, pizza flour: gluten, pizza sauce, pizza seasoning, pizza spice, placenta: meat,
    plantain chip, plantain flour, plum butter, plum sauce: ?gluten ?soy, poppy seed, pork bone: meat pork, pork
    broth: meat pork, pork chop: meat pork, pork fat: meat pork, pork loin: meat pork, pork rib: meat pork, pork
    roast: meat pork, pork rub, pork seasoning, pork skin: meat pork, pork tenderloin: meat pork, port salut: dairy,
    port wine: alcohol, portobello, potato chip, potato cube, potato flour, potato roll: gluten ?dairy, potato skin,
    potato starch flour, poultry seasoning, poultry spice, protein, puff: gluten, puff pastry: gluten ?dairy ?egg,
    puffed amaranth, puffed rice, pumpkin butter, pumpkin pie mix, pumpkin pie spice, pumpkin seed, quail egg: egg,
    quinoa flour, ragi, red chili, red wine vinegar: ?alcohol, reduced fat, rib, rib celery, rib of celery, rib rub,
    ribbon, rice bran, rice bran oil, rice cake, rice cereal, rice cracker, rice flour, rice malt, rice malt syrup,
    rice milk, rice miso: soy, rice noodle, rice paper, rice pasta, rice powder, rice puff, rice stick, rice stick
    noodle, rice vermicelli, rice vinegar, rice wine vinegar, rice wrapper, roast chestnut: nuts, roast garlic, roast
    peanut: peanut, roast pepper, roast tomato, roasted, rock candy, roll oat: ?gluten, roll sugar, rolled oat:
    ?gluten, roma tomato, romaine heart, romano bean, romano pepper, root beer, rootstock, rum: alcohol, rum
    flavoring: ?alcohol, rum raisin: alcohol, rye free, rye whiskey: alcohol ?gluten, salmon fillet: fish, salmon
    steak: fish, salsa sauce, sandwich bag, sauce pan, sausage roll: gluten meat, seafood broth: fish shellfish,
    seafood seasoning, seed, seed butter, seed oil, semi sweet, semi sweet chocolate: ?dairy, semisweet chocolate:
    ?dairy, sesame free, sesame oil: sesame, sesame seed: sesame, shea butter, shea nut, sheep cheese: dairy, sheep
    milk: dairy, sherry vinegar: ?alcohol, sherry wine vinegar: ?alcohol, shirataki noodle, short grain, shortening:
    ?dairy ?meat ?soy, shrimp boil, shrimp chip: shellfish, shrimp seasoning, shrimp stock: shellfish, skin, skin on,
    small fry, snack, soda, soda bread: dairy gluten, soda cracker: gluten, sorghum flour, soup bone: meat, soup
    green, soup ladle, soup noodle: gluten ?egg, soup spoon, soup spoonful, soup vegetable, soy butter: soy, soy
    cheese: soy, soy chorizo: soy, soy cream: soy, soy flour: soy, soy free, soy lecithin: soy, soy milk: soy, soy
    nut: soy, soy oil: ?soy, soy protein: soy, soy sauce: gluten soy, soy sprout: soy, soy yoghurt: soy, soy yogurt:
    soy, soya flour: soy, soya milk: soy, soybean oil: ?soy, soybean sprout: soy, soymilk: soy, soyrizo: soy,
    spaghetti sauce: ?dairy ?meat, spaghetti squash, spice cube, spicy, spirit hartshorn, spirit of hartshorn, spirit
    vinegar, spring roll skin: gluten, spring roll wrapper: gluten ?egg, sprout, sriracha sauce, starter, steak fry:
    ?gluten, steak rub, steak sauce: ?fish ?gluten ?soy, steak seasoning, steak spice, steak tomato, steel cut oat:
    ?gluten, stewing, stir fry, stock fish: fish, stock fish head: fish, stock pot, sugar candy, sugar cube, sunflower
    butter, sunflower seed, sunflower seed butter, sushi roll: ?fish, sweet, sweet and sour sauce: ?gluten ?soy, sweet
    basil, sweet bean, sweet chili sauce, sweet corn, sweet onion, sweet paprika, sweet pepper, sweet pickle, sweet
    potato, sweet potato flour, sweet potato noodle, sweet relish, sweet rice, sweet rice flour, swiss chard, swiss
    steak: beef meat, swordfish steak: fish, tabasco sauce, taco sauce, taco seasoning: ?gluten, taco shell: ?gluten,
    tahini butter: sesame, tamari: soy, tamari sauce: soy, tamarind sauce, tapioca flour, tartar, teff, teff flour,
    teriyaki sauce: gluten soy ?alcohol ?honey, tiger nut, tigernut, toast point: gluten, toast sesame: sesame, toban
    djan: gluten soy, tofu: soy, tofu cake: soy, tofu cheese: soy, tofu cream: soy, tofu cube: soy, tomato sauce,
    tomato soup: ?dairy ?gluten, top crust, topping, tortilla chip: ?gluten, tuna steak: fish, turkey apricot, turkey
    bacon: meat poultry, turkey breast: meat poultry, turkey broth: meat poultry, turkey date, turkey egg: egg, turkey
    fig, turkey ham: meat poultry, turkey sausage: meat poultry ?pork, turkey stock: meat poultry, turkish, unsweet,
    unsweetened chocolate, urad flour, vanilla almond milk: nuts, vanilla bean, vanilla custard: dairy egg, vanilla
    ice cream: dairy ?egg ?gluten, vanilla pod, vanilla powder, vanilla pudding: ?dairy ?gluten, vanilla soy milk:
    soy, vanilla sugar, vanilla wafer: egg gluten ?dairy, vanilla yoghurt: dairy, vanilla yogurt: dairy, veal stock:
    meat, vegan chocolate, vegan dashi, vegan spread, vegetable, vegetable bouillon: ?gluten, vegetable bouillon cube:
    ?gluten, vegetable broth, vegetable consomme, vegetable fat, vegetable gravy: ?gluten, vegetable protein: ?soy,
    vegetable shortening: ?soy, vegetable soup: ?gluten, vegetable stock, vegetable stock cube: ?gluten, vegetable
    stock powder: ?gluten, vegetable suet, vegetarian broth, vegetarian stock, veggie broth, veggie stock, vermicelli:
    ?egg ?gluten, vinaigrette, vinegar, vodka sauce: alcohol dairy, waffle syrup, walnut half: nuts, walnut milk:
    nuts, walnut oil: nuts, walnut size, walnut sized, water, water chestnut, water chestnut flour, wheat beer:
    alcohol gluten, wheat berry: gluten, wheat free, wheatgrass, whipping, whipping cream: dairy, white, white bread:
    gluten ?dairy, white flour: gluten, white pepper, white wine vinegar: ?alcohol, whole grain, whole grain mustard,
    wine glass, wine vinegar: ?alcohol, wine yeast, wineglass, wing bean, wing nut, wing sauce: ?dairy, winged, winged
    bean, wonton skin: gluten ?egg, wonton wrapper: gluten ?egg, wood chip, worcester sauce: ?fish ?gluten ?soy,
    worcestershire powder: ?fish, worcestershire sauce: ?fish ?gluten ?soy, worchestershire sauce: ?fish ?gluten ?soy,
    yam flour, yeast cake, yeast roll: gluten, yolk free, yolk free noodle: gluten, zucchini noodle
"""
# A food made without what it is named for says so in the words before it.
_ANIMAL = frozenset({
    "meat", "beef", "pork", "poultry", "fish", "shellfish", "dairy", "egg", "honey", "gelatin",
})  # fmt: skip
_FREE = {
    "vegan": _ANIMAL, "plant based": _ANIMAL, "vegetarian": _ANIMAL - {"dairy", "egg", "honey"},
    "veggie": _ANIMAL - {"dairy", "egg", "honey"}, "meatless": _ANIMAL - {"dairy", "egg", "honey"},
    "mock": frozenset({"meat", "beef", "pork", "poultry", "fish", "shellfish"}),
    "gluten free": frozenset({"gluten"}), "wheat free": frozenset({"gluten"}), "dairy free": frozenset({"dairy"}),
    "non dairy": frozenset({"dairy"}), "nondairy": frozenset({"dairy"}), "milk free": frozenset({"dairy"}),
    "egg free": frozenset({"egg"}), "eggless": frozenset({"egg"}), "nut free": frozenset({"nuts", "peanut"}),
    "soy free": frozenset({"soy"}), "alcohol free": frozenset({"alcohol"}), "non alcoholic": frozenset({"alcohol"}),
    "nonalcoholic": frozenset({"alcohol"}),
}  # fmt: skip
_PART_OF = {"beef": "meat", "pork": "meat", "poultry": "meat"}

_WORD = re.compile(r"[a-z0-9]+")
_IRREGULAR = {
    "cookies": "cookie", "brownies": "brownie", "pies": "pie", "smoothies": "smoothie", "veggies": "veggie",
    "loaves": "loaf", "halves": "half", "leaves": "leaf", "calves": "calf", "geese": "goose", "krispies": "krispy",
    "molasses": "molasses", "hens": "hen", "bitters": "bitters", "bass": "bass", "fries": "fry",
    "weenies": "weenie", "gummies": "gummy", "wieners": "wiener",
}  # fmt: skip


def tokens(said: str) -> list[str]:
    """The words of a text in lower case, in plain letters and in the singular: `Crème brûlées` is `creme brulee`."""
    plain = unicodedata.normalize("NFKD", said.lower()).encode("ascii", "ignore").decode()
    return [singular(word) for word in _WORD.findall(plain.replace("'", ""))]


def singular(word: str) -> str:
    """One of a thing. Not every result is a word, but the plural and the singular have the same."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("oes", "ches", "shes", "xes", "sses")) else word[:-1]


def _listed(text: str) -> Iterator[str]:
    """The names in a list with commas, as tokens give them."""
    for name in text.split(","):
        if words := tokens(name):
            yield " ".join(words)


@cache
def foods() -> Mapping[str, frozenset[str]]:
    """Name → the groups it is of; one it may be of has a question mark before it."""
    found: dict[str, set[str]] = {}
    for mark, table in (("", _SURE), ("?", _DOUBTFUL)):
        for group, names in table.items():
            for name in _listed(names):
                found.setdefault(name, set()).add(mark + group)
    for name in found:
        found[name] |= _of_its_words(name, found)
    for entry in _OTHER.split(","):
        name, _, groups = entry.partition(":")
        found[" ".join(tokens(name))] = set(groups.split())
    return MappingProxyType({name: _settled(groups) for name, groups in found.items()})


def _of_its_words(name: str, found: Mapping[str, set[str]]) -> set[str]:
    """What the words of a longer name hold each for itself: `ground meat` may be pork, and is meat."""
    words = name.split()
    return set().union(*(found.get(word, ()) for word in words)) if len(words) > 1 else set()


def _settled(groups: Iterable[str]) -> frozenset[str]:
    """Beef is meat, too; what is sure is no longer doubtful."""
    whole = set(groups) | {_PART_OF[one] for one in groups if one in _PART_OF}
    return frozenset(one for one in whole if not (one[0] == "?" and one[1:] in whole))


_LONGEST = 6


def named(words: Sequence[str]) -> Iterator[tuple[int, int, frozenset[str]]]:
    """The foods that words name, the longest name at each place: where it begins and ends, and its groups."""
    known, place = foods(), 0
    while place < len(words):
        most = min(_LONGEST, len(words) - place)
        length = next((n for n in range(most, 0, -1) if " ".join(words[place : place + n]) in known), 0)
        if length:
            yield place, place + length, known[" ".join(words[place : place + length])]
        place += length or 1


def without(words: Sequence[str]) -> frozenset[str]:
    """The groups that words say they are free of: `vegan cheese` has no dairy."""
    pairs = {*words, *(f"{a} {b}" for a, b in pairwise(words))}
    return frozenset(group for said in pairs & _FREE.keys() for group in _FREE[said])
